//! A measurement of throughput as a picture.

use crate::probe::throughput::report::Throughput;
use crate::probe::throughput::step::Step;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 70.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 60.0;

/// Offered rate to the right; good answers a second (left) and the time of an answer (right) upwards; refused steps are
/// marked, and the answer is a line.
pub fn svg(report: &Throughput) -> String {
    let steps = &report.steps;
    let most_x = nice(steps.iter().map(|step| step.offered).fold(report.ceiling, f64::max));
    let most_ms = nice(steps.iter().filter_map(|step| step.p95_ms).max().unwrap_or(100) as f64);
    let x = |rate: f64| LEFT + rate / most_x * (WIDTH - LEFT - RIGHT);
    let y = |share: f64| HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"15\">{}: what {} bears</text>\n",
        escaped(&report.subject.dataset),
        escaped(&report.subject.source),
    );
    for tick in 0..=5 {
        let share = f64::from(tick) / 5.0;
        text.push_str(&format!(
            "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <text x=\"{}\" y=\"{:.1}\" fill=\"#b35\">{} ms</text>\
             <text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
            WIDTH - RIGHT,
            LEFT - 6.0,
            y(share) + 4.0,
            most_x * share,
            WIDTH - RIGHT + 6.0,
            y(share) + 4.0,
            most_ms * share,
            x(most_x * share),
            HEIGHT - BOTTOM + 18.0,
            most_x * share,
            y = y(share),
        ));
    }
    text.push_str(&format!(
        "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">calls a second offered</text>\n",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - BOTTOM + 38.0,
    ));
    let mut sorted: Vec<&Step> = steps.iter().collect();
    sorted.sort_by(|a, b| a.offered.total_cmp(&b.offered));
    let line = |of: &dyn Fn(&Step) -> Option<f64>, colour: &str, dashes: &str, name: &str| {
        let points: Vec<String> =
            sorted.iter().filter_map(|step| Some(format!("{:.1},{:.1}", x(step.offered), y(of(step)?)))).collect();
        format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\">\
             <title>{name}</title></polyline>\n",
            points.join(" ")
        )
    };
    let of_ms = |ms: Option<u64>| ms.map(|ms| ms as f64 / most_ms);
    text.push_str(&line(&|step| of_ms(step.p50_ms), "#b35", "", "p50 of an answer"));
    text.push_str(&line(&|step| of_ms(step.p95_ms), "#b35", "4 4", "p95 of an answer"));
    text.push_str(&line(&|step| Some(step.good_rps / most_x), "#26a", "", "good answers a second"));
    for step in steps {
        let (mark, colour) = if step.refused > 0 { ("×", "#c00") } else { ("•", "#26a") };
        text.push_str(&format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"18\" fill=\"{colour}\">{mark}\
             <title>{:.1}/s offered, {} calls, {} refused</title></text>\n",
            x(step.offered),
            y(step.good_rps / most_x) + 6.0,
            step.offered,
            step.calls,
            step.refused,
        ));
    }
    if let Some(answer) = &report.result {
        text.push_str(&format!(
            "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{}\" stroke=\"#283\" stroke-width=\"2\"/>\
             <text x=\"{:.1}\" y=\"{}\" fill=\"#283\">{}/s, {} in flight</text>\n",
            HEIGHT - BOTTOM,
            x(answer.rps) + 6.0,
            TOP + 4.0,
            answer.rps,
            answer.concurrency,
            at = x(answer.rps),
        ));
    }
    text.push_str(&format!(
        "<text x=\"{LEFT}\" y=\"40\" fill=\"#26a\">good answers a second</text>\
         <text x=\"{}\" y=\"40\" fill=\"#b35\">time of an answer: p50, p95 dashed</text>\
         <text x=\"{}\" y=\"40\" fill=\"#c00\">× refused</text>\n</svg>\n",
        LEFT + 150.0,
        LEFT + 370.0,
    ));
    text
}

/// The picture in a page of its own.
pub fn html(report: &Throughput) -> String {
    let title = escaped(&format!("What {} bears", report.subject.dataset));
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<style>svg {{ max-width: 60em }}</style>\n{}",
        svg(report)
    )
}

/// The next higher number that reads well at five marks.
fn nice(most: f64) -> f64 {
    let step = 10_f64.powf(most.max(1.0).log10().floor());
    [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|times| times * step).find(|nice| *nice >= most).unwrap_or(most)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

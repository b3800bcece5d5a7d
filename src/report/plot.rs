//! A measurement of throughput as a picture.

use crate::probe::throughput::report::Throughput;
use crate::probe::throughput::step::{Step, StepKind};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 50.0;
const RIGHT: f64 = 70.0;
const TOP: f64 = 66.0;
const BOTTOM: f64 = 76.0;

const RATE: &str = "#26a";
const TIME: &str = "#96b";
const REFUSED: &str = "#c00";
const ANSWER: &str = "#283";

/// Where things are.
struct Canvas<'a> {
    steps: &'a [Step],
    most_rate: f64,
    most_ms: f64,
    text: String,
}

/// Good answers a second (left) and the time of an answer (right) upwards. To the right the rate that was offered, with the
/// answer as a line; of a plain table its rows, one beside the other.
pub fn svg(report: &Throughput) -> String {
    let steps = &report.steps;
    let most_ms = steps.iter().filter_map(|step| step.p95_ms).max().unwrap_or(100);
    let mut canvas = Canvas {
        steps,
        most_rate: nice(steps.iter().map(|step| step.offered).fold(report.ceiling, f64::max)),
        most_ms: nice(most_ms as f64),
        text: format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
        ),
    };
    canvas.write(LEFT, 24.0, "font-size=\"15\"", &format!("What {} bears", report.subject.dataset));
    canvas.write(LEFT, HEIGHT - 12.0, "font-size=\"10\" fill=\"#666\"", &footer(report));
    canvas.draw_marks();
    if !steps.is_empty() && steps.iter().all(|step| step.kind == StepKind::Row) {
        canvas.draw_rows();
    } else {
        canvas.draw_steps(report);
    }
    canvas.text + "</svg>\n"
}

impl Canvas<'_> {
    fn x(&self, rate: f64) -> f64 {
        LEFT + rate / self.most_rate * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, share: f64) -> f64 {
        HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
    }

    fn y_of_rate(&self, rate: f64) -> f64 {
        self.y(rate / self.most_rate)
    }

    fn y_of_ms(&self, ms: u64) -> f64 {
        self.y(ms as f64 / self.most_ms)
    }

    fn write(&mut self, x: f64, y: f64, how: &str, words: &str) {
        self.text.push_str(&format!("<text x=\"{x:.1}\" y=\"{y:.1}\" {how}>{}</text>\n", escaped(words)));
    }

    fn line(&mut self, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2], how: &str) {
        self.text.push_str(&format!("<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {how}/>\n"));
    }

    fn point(&mut self, [x, y]: [f64; 2], how: &str, words: &str) {
        self.text.push_str(&format!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" {how}><title>{}</title></circle>\n",
            escaped(words)
        ));
    }

    /// Marks of both scales, and what their colours mean.
    fn draw_marks(&mut self) {
        for tick in 0..=5 {
            let share = f64::from(tick) / 5.0;
            let y = self.y(share);
            self.line([LEFT, y], [WIDTH - RIGHT, y], "stroke=\"#ddd\"");
            let (rate, ms) = (rounded(self.most_rate * share), rounded(self.most_ms * share));
            self.write(LEFT - 6.0, y + 4.0, &format!("text-anchor=\"end\" fill=\"{RATE}\""), &rate);
            self.write(WIDTH - RIGHT + 6.0, y + 4.0, &format!("fill=\"{TIME}\""), &format!("{ms} ms"));
        }
        self.write(LEFT, 48.0, &format!("fill=\"{RATE}\""), "good answers a second");
        self.write(WIDTH - RIGHT, 48.0, &format!("text-anchor=\"end\" fill=\"{TIME}\""), "time of an answer: p50, p95 dashed");
    }

    fn draw_steps(&mut self, report: &Throughput) {
        for tick in 0..=5 {
            let rate = self.most_rate * f64::from(tick) / 5.0;
            self.write(self.x(rate), HEIGHT - BOTTOM + 18.0, "text-anchor=\"middle\"", &rounded(rate));
        }
        let middle = (LEFT + WIDTH - RIGHT) / 2.0;
        self.write(middle, HEIGHT - BOTTOM + 38.0, "text-anchor=\"middle\"", "calls a second offered");
        let mut sorted: Vec<&Step> = self.steps.iter().collect();
        sorted.sort_by(|a, b| a.offered.total_cmp(&b.offered));
        self.curve(&sorted, |canvas, step| step.p50_ms.map(|ms| canvas.y_of_ms(ms)), TIME, "");
        self.curve(&sorted, |canvas, step| step.p95_ms.map(|ms| canvas.y_of_ms(ms)), TIME, "stroke-dasharray=\"4 4\"");
        self.curve(&sorted, |canvas, step| Some(canvas.y_of_rate(step.good_rps)), RATE, "");
        for step in sorted {
            let at = [self.x(step.offered), self.y_of_rate(step.good_rps)];
            match step.refused {
                0 => self.point(at, &format!("fill=\"{RATE}\""), &told(step)),
                _ => self.cross(at),
            }
        }
        if let Some(answer) = &report.result {
            let x = self.x(answer.rps);
            self.line([x, TOP], [x, HEIGHT - BOTTOM], &format!("stroke=\"{ANSWER}\" stroke-width=\"2\""));
            // On the side where there is room, at the foot, where no curve is.
            let (at, anchor) = if x > middle { (x - 6.0, "end") } else { (x + 6.0, "start") };
            let words = format!("{}/s, {} in flight", answer.rps, answer.concurrency);
            self.write(at, HEIGHT - BOTTOM - 8.0, &format!("text-anchor=\"{anchor}\" fill=\"{ANSWER}\""), &words);
        }
        if self.steps.iter().any(|step| step.refused > 0) {
            self.cross([middle - 34.0, 44.0]);
            self.write(middle - 24.0, 48.0, &format!("fill=\"{REFUSED}\""), "refused");
        }
    }

    fn draw_rows(&mut self) {
        let width = (WIDTH - LEFT - RIGHT) / self.steps.len() as f64;
        for (row, step) in self.steps.iter().enumerate() {
            let middle = LEFT + width * (row as f64 + 0.5);
            let [left, right] = [middle - width * 0.3, middle + width * 0.3];
            let (top, foot) = (self.y_of_rate(step.good_rps), self.y(0.0));
            self.text.push_str(&format!(
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{RATE}\" fill-opacity=\"0.3\"/>\n",
                right - left,
                foot - top,
            ));
            let cap = self.y_of_rate(step.offered);
            self.line([left, cap], [right, cap], &format!("stroke=\"{RATE}\" stroke-dasharray=\"2 3\""));
            for (ms, dashes) in [(step.p50_ms, ""), (step.p95_ms, "stroke-dasharray=\"4 4\"")] {
                if let Some(ms) = ms {
                    let y = self.y_of_ms(ms);
                    self.line([left, y], [right, y], &format!("stroke=\"{TIME}\" stroke-width=\"2\" {dashes}"));
                }
            }
            self.write(middle, foot - 8.0, "text-anchor=\"middle\"", &format!("{:.1}/s", step.good_rps));
            self.write(middle, foot + 18.0, "text-anchor=\"middle\"", &format!("{} in flight, {}/s", step.cap, step.offered));
            if step.refused > 0 {
                self.cross([middle, top]);
            }
        }
        let middle = (LEFT + WIDTH - RIGHT) / 2.0;
        self.write(
            middle,
            HEIGHT - BOTTOM + 38.0,
            "text-anchor=\"middle\"",
            "calls in flight and calls a second allowed (dotted)",
        );
    }

    fn curve(&mut self, steps: &[&Step], y: impl Fn(&Self, &Step) -> Option<f64>, colour: &str, dashes: &str) {
        let points: Vec<String> =
            steps.iter().filter_map(|step| Some(format!("{:.1},{:.1}", self.x(step.offered), y(self, step)?))).collect();
        self.text.push_str(&format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" {dashes}/>\n",
            points.join(" ")
        ));
    }

    fn cross(&mut self, [x, y]: [f64; 2]) {
        let how = format!("stroke=\"{REFUSED}\" stroke-width=\"2.5\"");
        self.line([x - 5.0, y - 5.0], [x + 5.0, y + 5.0], &how);
        self.line([x - 5.0, y + 5.0], [x + 5.0, y - 5.0], &how);
    }
}

fn told(step: &Step) -> String {
    format!("{:.1}/s offered, {} calls, {} refused", step.offered, step.calls, step.refused)
}

fn footer(report: &Throughput) -> String {
    let tested = &report.tested;
    format!("{}: {} calls in {:.0} s, {}", report.subject.source, tested.calls, tested.seconds, report.subject.started)
}

/// The picture in a page of its own.
pub fn html(report: &Throughput) -> String {
    let title = escaped(&format!("What {} bears", report.subject.dataset));
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<style>svg {{ max-width: 60em }}</style>\n{}",
        svg(report)
    )
}

/// The next higher number whose fifths read well.
fn nice(most: f64) -> f64 {
    let step = 10_f64.powf(most.max(1.0).log10().floor());
    let times = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.5, 10.0];
    times.into_iter().map(|times| times * step).find(|nice| *nice >= most).unwrap_or(most)
}

/// As short as it goes: the fifths of what is nice are no long fractions.
fn rounded(number: f64) -> String {
    ((number * 100.0).round() / 100.0).to_string()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

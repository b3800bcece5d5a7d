//! A measurement of throughput as text, line by line while it happens.

use crate::probe::throughput::report::{Answer, Confidence, Ended, LimitKind, Throughput};
use crate::probe::throughput::step::{Step, StepKind, StepVerdict};

use super::number::{counted, grouped};

/// Columns of a bar that is as long as it gets.
const BAR: f64 = 25.0;

/// The head of the table.
pub fn head() -> String {
    " step    offered    sent  in flight  calls  refused   p50   p95  good answers a second\n".to_owned()
}

/// One step; `most` is the rate of a full bar.
pub fn row(step: &Step, most: f64) -> String {
    let ms = |ms: Option<u64>| ms.map_or("-".to_owned(), |ms| ms.to_string());
    let bar = "#".repeat((step.good_rps / most.max(1.0) * BAR).round() as usize);
    let refused = if step.refused > 0 { "x".repeat(step.refused.min(10)) } else { String::new() };
    let remark = match (&step.first_refused, step.verdict) {
        (Some(first), _) => format!("  {first}"),
        (None, StepVerdict::Slow) => "  answers take longer: the source queues".to_owned(),
        (None, StepVerdict::Held) => "  held down by the calls in flight".to_owned(),
        (None, StepVerdict::Failing) => format!("  {} failed", counted(step.soft as u64, "call")),
        (None, StepVerdict::Clean | StepVerdict::Refused) => String::new(),
    };
    format!(
        " {:<7} {:>7.1} {:>7.1}  {:>9}  {:>5}  {:>7}  {:>4}  {:>4}  {:>5.1} |{bar}{refused}{remark}\n",
        kind(step.kind),
        step.offered,
        step.sent,
        format!("{}/{}", step.in_flight, step.cap),
        step.calls,
        step.refused,
        ms(step.p50_ms),
        ms(step.p95_ms),
        step.good_rps,
    )
}

/// A line between two steps.
pub fn note(text: &str) -> String {
    format!("         {text}\n")
}

/// What it all comes to. `quota` is the dataset's calls a day, if they are known.
pub fn result(report: &Throughput, quota: Option<u64>) -> String {
    let mut text = String::new();
    let mut line = |name: &str, what: &str| text.push_str(&format!(" {name:<7} {what}\n"));
    match &report.result {
        Some(answer) => line("result", &format!("--rps {} --concurrency {}   {}", answer.rps, answer.concurrency, sure(answer))),
        None if report.steps.iter().all(|step| step.kind == StepKind::Row) => {}
        None => line("result", "none"),
    }
    if report.result.is_some() {
        let ruled_out = match report.not_ruled_out.as_slice() {
            [] => String::new(),
            open => format!("; not ruled out: {}", open.join(", ")),
        };
        line("kind", &format!("{}{ruled_out}", limit_kind(report.kind)));
    }
    if let Some(why) = &report.why {
        line("ended", why);
    }
    let learned = &report.learned;
    let facts = [
        ("page size", &learned.page_size),
        ("page before", &learned.before_first),
        ("page after", &learned.past_end),
        ("page twice", &learned.same_page),
        ("format", &learned.format),
    ];
    for (position, (name, fact)) in facts.into_iter().enumerate() {
        let verdict = fact.verdict.replace('_', " ");
        line(if position == 0 { "learned" } else { "" }, &format!("{name:<11}  {verdict}: {}", fact.told));
    }
    let quota = quota.map_or(String::new(), |daily| {
        format!(" Of the day's {} calls {:.0} %.", grouped(daily), report.used as f64 * 100.0 / daily as f64)
    });
    line(
        "tested",
        &format!(
            "{} in {:.0} s at {}.{quota}",
            counted(report.tested.calls as u64, "call"),
            report.tested.seconds,
            report.subject.source,
        ),
    );
    text
}

fn kind(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Base => "base",
        StepKind::Ladder => "ladder",
        StepKind::Refine => "refine",
        StepKind::Soak => "soak",
        StepKind::Row => "row",
    }
}

fn limit_kind(kind: LimitKind) -> &'static str {
    match kind {
        LimitKind::None => "no limit was met up to the ceiling",
        LimitKind::Rate => "a limit by spacing or window, not by calls in flight",
        LimitKind::InFlight => "a limit on calls in flight",
        LimitKind::Ban => "a ban: whoever is refused is refused for a while",
        LimitKind::LongWindow => "a limit on the calls of a minute or longer",
        LimitKind::Queue => "a queue: nothing is refused, answers take longer",
    }
}

fn sure(Answer { confidence, upper95_refused, .. }: &Answer) -> String {
    match confidence {
        Confidence::Soaked => format!("kept up without a refusal (95 %: less than {:.1} %)", upper95_refused * 100.0),
        Confidence::NoLimitSeen => "nothing was refused".to_owned(),
        Confidence::Blocked => "a ban ended the search before this could be tried: begin with less".to_owned(),
        Confidence::LongWindow => "from what was let in until it refused".to_owned(),
        Confidence::Unsure if *upper95_refused >= 1.0 => {
            "reckoned from what was let in between two refusals, not tried".to_owned()
        }
        Confidence::Unsure => {
            format!("kept up without a refusal (95 %: less than {:.1} %), not for long enough", upper95_refused * 100.0)
        }
    }
}

/// How a measurement ended, for whoever reads on.
pub fn next(report: &Throughput, saved: bool) -> String {
    match report.ended {
        Ended::Answered if saved => format!("gapless collect {}", report.subject.dataset),
        Ended::Answered if report.result.is_some() => "add --save to put it below your settings".to_owned(),
        Ended::Answered => format!("gapless probe throughput {}", report.subject.dataset),
        Ended::Blocked => "wait a while before anything else asks this source".to_owned(),
        Ended::Quota => "the same command tomorrow".to_owned(),
        Ended::Barred => format!("gapless doctor {}", report.subject.dataset),
        Ended::Trouble => "the same command when the source is well again".to_owned(),
        Ended::Interrupted => "the same command, and let it end".to_owned(),
    }
}

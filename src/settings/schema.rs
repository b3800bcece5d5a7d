use std::time::Duration;

use crate::model::name::Name;
use crate::model::rate::Rate;

/// One setting: where it stands and what it may be.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Dotted path; `*` stands for the name of a dataset or provider.
    pub path: &'static str,
    pub kind: Kind,
}

/// What a setting may be.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Text,
    /// Small letters, digits and single `_`.
    Name,
    /// A name, or empty for none.
    OptionalName,
    /// A file or folder; relative to the file it was set in. Empty: none.
    Path,
    /// As [`Kind::Path`] behind `sqlite://`.
    StoreUrl,
    Duration,
    /// A duration, or empty for none.
    OptionalDuration,
    /// A number of bytes with its unit.
    Bytes,
    Whole {
        least: u64,
        most: u64,
    },
    Number {
        least: f64,
        most: f64,
    },
    Rate,
    /// A whole number from 1 to 1000, or `auto`.
    Concurrency,
    /// A moment, as `2026-11-29T18:00:00Z`.
    Instant,
    Switch,
    Choice(&'static [&'static str]),
}

/// Every setting there is. `config/default.toml` says what each means.
pub const SETTINGS: &[Setting] = &[
    setting("store.url", Kind::StoreUrl),
    setting("store.schema", Kind::Name),
    setting("store.reader_role", Kind::OptionalName),
    setting("store.lease", Kind::Duration),
    setting("store.keep_snapshots", Kind::Switch),
    setting("store.keep_bodies", Kind::Switch),
    setting("store.keep_attempts", Kind::Duration),
    setting("store.network_files", Kind::Switch),
    setting("paths.definitions", Kind::Path),
    setting("http.connect_timeout", Kind::Duration),
    setting("http.read_timeout", Kind::Duration),
    setting("http.total_timeout", Kind::Duration),
    setting("http.max_body", Kind::Bytes),
    setting("http.idle_timeout", Kind::Duration),
    setting("http.user_agent", Kind::Text),
    setting("http.ca_file", Kind::Path),
    setting("retry.max_retries", Kind::Whole { least: 0, most: 20 }),
    setting("retry.delay", Kind::Duration),
    setting("retry.multiplier", Kind::Number { least: 1.0, most: 100.0 }),
    setting("retry.max_delay", Kind::Duration),
    setting("retry.jitter", Kind::Duration),
    setting("retry.total_timeout", Kind::OptionalDuration),
    setting("retry.retry_after", Kind::Choice(&["strict", "capped", "ignore"])),
    setting("retry.error_pause", Kind::Duration),
    setting("retry.throttle_patience", Kind::Duration),
    setting("breaker.counts", Kind::Choice(&["attempts", "calls", "none"])),
    setting("breaker.window", Kind::Duration),
    setting("breaker.min_calls", Kind::Whole { least: 1, most: 1_000_000 }),
    setting("breaker.failure_rate", Kind::Number { least: 1.0, most: 100.0 }),
    setting("breaker.failures_in_a_row", Kind::Whole { least: 1, most: 1_000_000 }),
    setting("breaker.open_for", Kind::Duration),
    setting("breaker.max_open_for", Kind::Duration),
    setting("breaker.half_open_calls", Kind::Whole { least: 1, most: 1000 }),
    setting("breaker.patience", Kind::Duration),
    setting("breaker.*.counts", Kind::Choice(&["attempts", "calls", "none"])),
    setting("breaker.*.window", Kind::Duration),
    setting("breaker.*.min_calls", Kind::Whole { least: 1, most: 1_000_000 }),
    setting("breaker.*.failure_rate", Kind::Number { least: 1.0, most: 100.0 }),
    setting("breaker.*.failures_in_a_row", Kind::Whole { least: 1, most: 1_000_000 }),
    setting("breaker.*.open_for", Kind::Duration),
    setting("breaker.*.max_open_for", Kind::Duration),
    setting("breaker.*.half_open_calls", Kind::Whole { least: 1, most: 1000 }),
    setting("breaker.*.patience", Kind::Duration),
    setting("limits.concurrency", Kind::Choice(&["fixed", "auto"])),
    setting("limits.max_concurrency", Kind::Whole { least: 1, most: 1000 }),
    setting("limits.shared", Kind::Switch),
    setting("collect.max_pages", Kind::Whole { least: 1, most: 1_000_000 }),
    setting("collect.pages_ahead", Kind::Whole { least: 0, most: 64 }),
    setting("refresh.every_run", Kind::Whole { least: 0, most: 1200 }),
    setting("refresh.weekly", Kind::Whole { least: 0, most: 1200 }),
    setting("collect.*.months", Kind::Text),
    setting("collect.*.regions", Kind::Text),
    setting("providers.*.base_url", Kind::Text),
    setting("providers.*.key_param", Kind::Text),
    setting("providers.*.key_file", Kind::Path),
    setting("providers.*.concurrency", Kind::Concurrency),
    setting("providers.*.max_concurrency", Kind::Whole { least: 1, most: 1000 }),
    setting("providers.*.rps", Kind::Rate),
    setting("providers.*.documented_rps", Kind::Rate),
    setting("providers.*.daily_calls", Kind::Whole { least: 1, most: 1_000_000_000 }),
    setting("providers.*.reserve_calls", Kind::Whole { least: 0, most: 1_000_000_000 }),
    setting("providers.*.zone", Kind::Text),
    setting("providers.*.invalid_in_a_row", Kind::Whole { least: 1, most: 1_000_000 }),
    setting("providers.*.probed_at", Kind::Instant),
    setting("providers.*.probed_url", Kind::Text),
    setting("providers.*.probed_evidence", Kind::Text),
    setting("log.format", Kind::Choice(&["text", "json"])),
];

const fn setting(path: &'static str, kind: Kind) -> Setting {
    Setting { path, kind }
}

impl Setting {
    /// The setting at a path, and the name its `*` stands for.
    pub fn find(path: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| {
            let mut asked = path.split('.');
            let mut own = setting.path.split('.');
            loop {
                match (own.next(), asked.next()) {
                    (None, None) => return true,
                    (Some("*"), Some(name)) if !name.is_empty() => {}
                    (Some(own), Some(asked)) if own == asked => {}
                    (_, _) => return false,
                }
            }
        })
    }

    /// The known path most like an unknown one, if any is like it.
    pub fn nearest(path: &str) -> Option<String> {
        let name = path.split('.').nth(1).unwrap_or_default();
        let candidates = SETTINGS.iter().map(|setting| setting.path.replace('*', name));
        let scored = candidates.map(|candidate| (strsim::jaro_winkler(path, &candidate), candidate));
        scored.filter(|(score, _)| *score > 0.8).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, candidate)| candidate)
    }
}

impl Kind {
    /// Why a text is no value of this kind; `None` when it is one.
    pub fn objection(self, text: &str) -> Option<String> {
        match self {
            Self::Text | Self::Path => None,
            Self::Name => text.parse::<Name>().err().map(|_| "give small letters, digits and single `_`".to_owned()),
            Self::OptionalName => Self::Name.objection(text).filter(|_| !text.is_empty()),
            Self::StoreUrl => {
                let is_url = text.strip_prefix("sqlite://").is_some_and(|path| !path.is_empty())
                    || text.starts_with("postgres://")
                    || text.starts_with("postgresql://");
                (!is_url).then(|| "give a store such as `sqlite://gapless.db` or `postgres://user@host/database`".to_owned())
            }
            Self::Duration => parse_duration(text).is_none().then(|| "give a duration such as `2s`, `500ms` or `10m`".to_owned()),
            Self::OptionalDuration => Self::Duration.objection(text).filter(|_| !text.is_empty()),
            Self::Bytes => parse_bytes(text).is_none().then(|| "give a size such as `64MiB` or `512KiB`".to_owned()),
            Self::Whole { least, most } => {
                let fits = text.parse::<u64>().is_ok_and(|number| (least..=most).contains(&number));
                (!fits).then(|| format!("give a whole number from {least} to {most}"))
            }
            Self::Number { least, most } => {
                let fits = text.parse::<f64>().is_ok_and(|number| (least..=most).contains(&number));
                (!fits).then(|| format!("give a number from {least} to {most}"))
            }
            Self::Rate => text
                .parse::<Rate>()
                .err()
                .map(|_| format!("give calls a second, more than 0 and at most {}, or `none`", Rate::MAX)),
            Self::Concurrency => {
                let fits = text == "auto" || text.parse::<u32>().is_ok_and(|number| (1..=1000).contains(&number));
                (!fits).then(|| "give a whole number from 1 to 1000, or `auto`".to_owned())
            }
            Self::Instant => {
                let is_instant = text.parse::<jiff::Timestamp>().is_ok();
                (!is_instant).then(|| "give a moment such as `2026-11-29T18:00:00Z`".to_owned())
            }
            Self::Switch => (!matches!(text, "true" | "false")).then(|| "give `true` or `false`".to_owned()),
            Self::Choice(choices) => (!choices.contains(&text)).then(|| format!("give one of {}", choices.join(", "))),
        }
    }

    /// Whether a file writes it in quotes, as text.
    pub fn is_text(self) -> bool {
        match self {
            Self::Text
            | Self::Name
            | Self::OptionalName
            | Self::Path
            | Self::StoreUrl
            | Self::Duration
            | Self::OptionalDuration
            | Self::Bytes
            | Self::Instant
            | Self::Choice(_) => true,
            Self::Whole { .. } | Self::Number { .. } | Self::Rate | Self::Concurrency | Self::Switch => false,
        }
    }
}

/// `500ms`, `2s`, `10m`, `2h`, `400d`; a number without a unit is none.
pub fn parse_duration(text: &str) -> Option<Duration> {
    humantime::parse_duration(text).ok().filter(|_| text.ends_with(|c: char| c.is_ascii_alphabetic()))
}

/// `64MiB`, `512KiB`, `1GiB` or bytes with `B`, in bytes.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let units = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1)];
    let (number, unit) = units.iter().find_map(|(name, unit)| text.strip_suffix(name).map(|number| (number, unit)))?;
    number.trim().parse::<u64>().ok()?.checked_mul(*unit).filter(|&bytes| bytes > 0 && bytes < 1 << 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_refused_with_what_to_give_instead() {
        let check = |path: &str, good: &[&str], bad: &[&str]| {
            let kind = Setting::find(path).unwrap().kind;
            for text in good {
                assert_eq!(kind.objection(text), None, "{path} = {text}");
            }
            for text in bad {
                assert!(kind.objection(text).is_some_and(|advice| advice.starts_with("give ")), "{path} = {text}");
            }
        };
        check("retry.delay", &["2s", "0s", "500ms", "1h 30m"], &["", "2", "fast", "-2s", "0"]);
        check("retry.total_timeout", &["", "5m"], &["5"]);
        check("retry.max_retries", &["0", "20"], &["-1", "21", "4.7", "true", ""]);
        check("retry.multiplier", &["1", "3.0"], &["0.5", "NaN", "inf", "x"]);
        check("retry.retry_after", &["strict"], &["Strict", ""]);
        check("providers.data_go_kr.rps", &["40", "0.5", "none"], &["0", "-1", "NaN", "inf", "1e9"]);
        check("providers.data_go_kr.concurrency", &["1", "1000", "auto"], &["0", "1001", "1e6", "Auto"]);
        check("http.max_body", &["64MiB", "1B"], &["64", "0MiB", "64MB", "2GiB", "99999999999999999999B"]);
        check("store.keep_bodies", &["true", "false"], &["yes", "1"]);
        check("store.schema", &["gapless", "night_2"], &["", "Night", "a b", "\"; drop"]);
        check("store.reader_role", &["", "reader"], &["Reader"]);
        check(
            "store.url",
            &["sqlite://a.db", "postgres://h/d", "postgresql://h/d"],
            &["", "a.db", "sqlite://", "mysql://x", "postgres"],
        );
    }

    #[test]
    fn an_unknown_path_is_answered_with_the_nearest_known() {
        let check = |path: &str, nearest: Option<&str>| {
            assert!(Setting::find(path).is_none());
            assert_eq!(Setting::nearest(path).as_deref(), nearest, "{path}");
        };
        check("retry.max_retires", Some("retry.max_retries"));
        check("retry.dealy", Some("retry.delay"));
        check("providers.data_go_kr.concurency", Some("providers.data_go_kr.concurrency"));
        check("zzz", None);
    }
}

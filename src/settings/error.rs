use std::fmt;

/// Why the settings cannot be used: every problem found, each with where, what and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct SettingsError {
    pub problems: Vec<Problem>,
}

/// One thing wrong with the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// `gapless.toml:12`, `environment variable GAPLESS__RETRY__DELAY`, `--rps`.
    pub place: String,
    pub what: String,
}

impl SettingsError {
    pub fn one(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { problems: vec![Problem { place: place.into(), what: what.into() }] }
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, problem) in self.problems.iter().enumerate() {
            let newline = if position == 0 { "" } else { "\n" };
            write!(f, "{newline}{}: {}", problem.place, problem.what)?;
        }
        Ok(())
    }
}

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::error::SettingsError;
use super::resolved::Settings;
use crate::definition::provider::Seed;
use crate::model::name::Name;

/// Limits that a probe found, to be kept below the user's own settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Saved {
    pub provider: Name,
    pub rps: f64,
    pub concurrency: u32,
    pub probed_at: Timestamp,
    /// Whom it was found at.
    pub base_url: String,
    /// One sentence: how it was found.
    pub evidence: String,
}

/// When and where limits were found.
#[derive(Clone, Debug, PartialEq)]
pub struct Probed {
    pub seed: Seed,
    pub at: Timestamp,
    pub base_url: String,
    pub evidence: String,
}

const NAME: &str = "gapless.probed.toml";
const HEAD: &str = "# Limits found by `gapless probe throughput --save`: read below your own settings, which win.\n\
                    # A new probe replaces what stands here; delete what is not to hold any more.\n\n";

/// Where probes are saved: beside the settings file, or here where there is none.
pub fn saved_beside(settings: Option<&Path>) -> PathBuf {
    settings.map_or_else(|| PathBuf::from(NAME), |file| file.with_file_name(NAME))
}

/// The text of the saved limits with these in it, in place of those of the same provider.
///
/// Errors: what is there is no such file.
pub fn with_saved(text: Option<&str>, shown: &str, saved: &Saved) -> Result<String, SettingsError> {
    let parsed = toml::from_str(text.unwrap_or_default());
    let mut table: toml::Table =
        parsed.map_err(|error: toml::de::Error| SettingsError::one(shown, error.message().to_owned()))?;
    let mut limits = toml::Table::new();
    limits.insert("rps".to_owned(), saved.rps.into());
    limits.insert("concurrency".to_owned(), i64::from(saved.concurrency).into());
    limits.insert("probed_at".to_owned(), format!("{:.0}", saved.probed_at).into());
    limits.insert("probed_url".to_owned(), saved.base_url.clone().into());
    limits.insert("probed_evidence".to_owned(), saved.evidence.clone().into());
    let providers = table.entry("providers").or_insert_with(|| toml::Table::new().into());
    let Some(providers) = providers.as_table_mut() else {
        return Err(SettingsError::one(shown, "`providers` is no table"));
    };
    providers.insert(saved.provider.to_string(), limits.into());
    Ok(format!("{HEAD}{}", toml::to_string(&table).expect("a table of texts and numbers can be written")))
}

impl Settings {
    /// When and where the rate of a provider that is in force was found, if it was not set by hand.
    pub fn probed(&self, provider: &Name) -> Option<Probed> {
        // A rate set elsewhere is not the one that was found.
        let is_in_force = self.is_auto(provider) || !self.is_own(&format!("providers.{provider}.rps"));
        self.saved(provider).filter(|_| is_in_force)
    }

    /// What a probe found of a provider, whether it is in force or not.
    pub(super) fn saved(&self, provider: &Name) -> Option<Probed> {
        let text = |key: &str| self.saved.get(&format!("providers.{provider}.{key}")).map(|assigned| assigned.text.clone());
        let concurrency = text("concurrency").and_then(|text| text.parse().ok());
        Some(Probed {
            seed: Seed { rps: text("rps")?.parse().ok()?, concurrency },
            at: text("probed_at")?.parse().ok()?,
            base_url: text("probed_url").unwrap_or_default(),
            evidence: text("probed_evidence").unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::pace::Concurrency;
    use super::super::resolved::Files;
    use super::*;

    fn saved(provider: &'static str, rps: f64) -> Saved {
        Saved {
            provider: Name::literal(provider),
            rps,
            concurrency: 4,
            probed_at: "2026-11-29T18:00:00Z".parse().unwrap(),
            base_url: "https://apis.data.go.kr".to_owned(),
            evidence: "304 calls in 16 s, refused at \"42\"".to_owned(),
        }
    }

    fn load(own: &str, saved: &str) -> Settings {
        let files =
            Files { own: Some((Path::new("/x/gapless.toml"), own)), saved: Some((Path::new("/x/gapless.probed.toml"), saved)) };
        Settings::load(files, [], []).unwrap()
    }

    #[test]
    fn what_a_probe_found_holds_below_the_users_own_settings() {
        let text = with_saved(None, "x", &saved("data_go_kr", 28.1)).unwrap();
        let settings = load("", &text);
        let overrides = &settings.providers["data_go_kr"];
        assert_eq!((overrides.rps.unwrap().per_second(), overrides.concurrency), (Some(28.1), Some(Concurrency::Fixed(4))));
        let provider = Name::literal("data_go_kr");
        let probed = settings.probed(&provider).unwrap();
        assert_eq!((probed.at, probed.evidence), (saved("data_go_kr", 1.0).probed_at, saved("data_go_kr", 1.0).evidence));
        let settings = load("[providers.data_go_kr]\nrps = 5", &text);
        assert_eq!(settings.providers["data_go_kr"].rps.unwrap().per_second(), Some(5.0));
        assert_eq!(settings.probed(&provider), None, "a rate set by hand has no date");
        let settings = load("[providers.data_go_kr]\nrps = 5\nconcurrency = \"auto\"", &text);
        assert!(settings.probed(&provider).is_some(), "a search begins with it all the same");
    }

    #[test]
    fn a_new_probe_replaces_the_old_one_of_its_provider_alone() {
        let text = with_saved(None, "x", &saved("data_go_kr", 28.1)).unwrap();
        let text = with_saved(Some(&text), "x", &saved("seoul", 3.0)).unwrap();
        let text = with_saved(Some(&text), "x", &saved("data_go_kr", 20.0)).unwrap();
        assert!(text.starts_with(HEAD) && text.contains("20.0") && text.contains("3.0") && !text.contains("28.1"), "{text}");
        assert!(with_saved(Some("providers = 3"), "x", &saved("seoul", 1.0)).is_err());
        assert!(with_saved(Some("rps ="), "x", &saved("seoul", 1.0)).is_err());
    }
}

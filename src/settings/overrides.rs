use std::path::PathBuf;

use crate::definition::check::check_base_url;
use crate::definition::provider::Provider;
use crate::model::rate::Rate;

use super::pace::Concurrency;

/// What the user set of one provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProviderOverrides {
    pub base_url: Option<String>,
    pub key_param: Option<String>,
    pub key_file: Option<PathBuf>,
    pub concurrency: Option<Concurrency>,
    pub max_concurrency: Option<u32>,
    pub rps: Option<Rate>,
    pub documented_rps: Option<Rate>,
    pub daily_calls: Option<u64>,
    pub reserve_calls: Option<u64>,
    pub zone: Option<String>,
    pub invalid_in_a_row: Option<u32>,
}

impl ProviderOverrides {
    /// The provider with the user's values in front of the definition's.
    ///
    /// Errors: a base URL or zone that is none, in one sentence.
    pub fn apply(&self, provider: &Provider) -> Result<Provider, String> {
        let mut provider = provider.clone();
        if let Some(base_url) = &self.base_url {
            let base_url = base_url.trim_end_matches('/');
            check_base_url(base_url, provider.plain_http)?;
            provider.base_url = base_url.to_owned();
        }
        if let Some(zone) = &self.zone {
            jiff::tz::TimeZone::get(zone).map_err(|_| format!("`{zone}` is no time zone such as `Asia/Seoul`"))?;
            provider.zone.clone_from(zone);
        }
        if let Some(key_param) = &self.key_param {
            provider.key_param = Some(key_param.clone());
        }
        if let Some(Concurrency::Fixed(concurrency)) = self.concurrency {
            provider.concurrency = concurrency;
        }
        provider.rps = self.rps.unwrap_or(provider.rps);
        if let Some(rate) = self.documented_rps {
            provider.documented_rps = rate.per_second();
        }
        provider.daily_calls = self.daily_calls.or(provider.daily_calls);
        provider.reserve_calls = self.reserve_calls.unwrap_or(provider.reserve_calls);
        provider.invalid_in_a_row = self.invalid_in_a_row.unwrap_or(provider.invalid_in_a_row);
        Ok(provider)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::catalog::Catalog;
    use crate::definition::provider::PlainHttp;
    use crate::model::name::Name;

    #[test]
    fn a_base_url_set_by_the_user_is_held_to_the_rule_of_the_definition() {
        let overrides = ProviderOverrides { base_url: Some("http://mirror.example/".to_owned()), ..Default::default() };
        let catalog = Catalog::builtin();
        let shipped = catalog.provider(&Name::literal("data_go_kr")).unwrap();
        assert!(overrides.apply(shipped).unwrap_err().contains("would send keys unencrypted"));
        let plain = Provider { plain_http: PlainHttp::Anywhere, ..(**shipped).clone() };
        assert_eq!(overrides.apply(&plain).unwrap().base_url, "http://mirror.example");
    }
}

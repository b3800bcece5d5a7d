use std::collections::BTreeMap;

use crate::model::name::Name;

use super::catalog::Catalog;
use super::dataset::{AxisKind, Dataset, Paging};
use super::path::RecordsPlace;
use super::provider::{PlainHttp, Provider};
use super::reserved;

/// What is wrong with a dataset on its own and beside the rest of the catalog; empty when nothing is.
pub(super) fn dataset_problems(dataset: &Dataset, catalog: &Catalog) -> Vec<String> {
    let mut problems = Vec::new();
    let id = &dataset.id;
    if let Some(objection) = reserved::dataset_objection(id.as_str()) {
        problems.push(format!("a dataset cannot be called `{id}`: {objection}"));
    }
    if catalog.provider(&dataset.provider).is_none() {
        problems.push(format!("no provider is called `{}`", dataset.provider));
    }
    if !dataset.path.starts_with('/') || dataset.path.contains(['?', '#', ' ']) {
        problems.push(format!("path `{}` must begin with `/` and hold no query", dataset.path));
    }
    for place in &dataset.records {
        if let Err(error) = place.parse::<RecordsPlace>() {
            problems.push(format!("records place `{place}`: {error}"));
        }
    }
    problems.extend(axis_problems(dataset, catalog));
    problems.extend(column_problems(dataset));
    problems.extend(paging_problems(dataset));
    problems
}

/// What is wrong with a provider.
pub(super) fn provider_problems(provider: &Provider, catalog: &Catalog) -> Vec<String> {
    let mut problems = Vec::new();
    if catalog.dialect(&provider.dialect).is_none() {
        problems.push(format!("no dialect is called `{}`", provider.dialect));
    }
    if let Err(problem) = check_base_url(&provider.base_url, provider.plain_http) {
        problems.push(problem);
    }
    if jiff::tz::TimeZone::get(&provider.zone).is_err() {
        problems.push(format!("zone `{}` is no time zone such as `Asia/Seoul`", provider.zone));
    }
    if !(1..=1000).contains(&provider.concurrency) {
        problems.push(format!("concurrency {} is outside 1 to 1000", provider.concurrency));
    }
    problems
}

/// Whether a text can be the base URL of a provider: `https`, or `http` as far as it is allowed; a host, no user, query or
/// trailing slash.
pub fn check_base_url(text: &str, plain_http: PlainHttp) -> Result<(), String> {
    let wrong = |why: &str| Err(format!("base_url `{text}` {why}"));
    let Ok(url) = url::Url::parse(text) else {
        return wrong("is no URL; write one such as `https://apis.data.go.kr`");
    };
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return wrong("must begin with `https://` or `http://` and name a host");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("base_url must not hold a user or password".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return wrong("must not hold a query");
    }
    if text.ends_with('/') {
        return wrong("must not end in `/`");
    }
    match plain_http {
        PlainHttp::Loopback if url.scheme() == "http" && !is_loopback(&url) => wrong(
            "would send keys unencrypted; write `https://`, or `plain_http = true` in the provider's definition if it offers \
             nothing else",
        ),
        PlainHttp::Loopback | PlainHttp::Anywhere => Ok(()),
    }
}

fn is_loopback(url: &url::Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn axis_problems(dataset: &Dataset, catalog: &Catalog) -> Vec<String> {
    let mut problems = Vec::new();
    if dataset.axes.is_empty() {
        problems.push("it has no axes: a partition would be nothing".to_owned());
    }
    for (position, axis) in dataset.axes.iter().enumerate() {
        let id = &axis.id;
        if let Some(objection) = reserved::column_objection(id.as_str()) {
            problems.push(format!("an axis cannot be called `{id}`: {objection}"));
        }
        if dataset.axes[..position].iter().any(|other| other.id == *id) {
            problems.push(format!("axis `{id}` stands in it twice"));
        }
        if position > 0 && dataset.axes[..position].iter().any(|other| other.kind == axis.kind && axis.kind != AxisKind::Values) {
            problems.push(format!("axis `{id}` is the second of its kind"));
        }
        match axis.kind {
            AxisKind::Region => match &axis.list {
                Some(list) if catalog.regions(list).is_none() => problems.push(format!("no region list is called `{list}`")),
                Some(_) => {}
                None => problems.push(format!("axis `{id}` names no region `list`")),
            },
            AxisKind::Month if axis.first.is_none() => {
                problems.push(format!("axis `{id}` does not say its `first` month"));
            }
            AxisKind::Values if axis.values.is_empty() => problems.push(format!("axis `{id}` has no `values`")),
            AxisKind::Month => {}
            AxisKind::Values => {
                let again = axis.values.iter().enumerate().find(|(at, value)| axis.values[..*at].contains(value));
                if let Some((_, value)) = again {
                    problems.push(format!("axis `{id}` has the value `{value}` twice"));
                }
            }
        }
        if !dataset.params.iter().any(|param| param.value.axes().any(|place| place == id)) {
            problems.push(format!("no parameter has a place `{{{id}}}`: every value of the axis would bring the same rows"));
        }
    }
    for place in dataset.params.iter().flat_map(|param| param.value.axes()) {
        if !dataset.axes.iter().any(|axis| axis.id == *place) {
            problems.push(format!("a parameter has a place `{{{place}}}`, but no axis is called so"));
        }
    }
    problems
}

fn column_problems(dataset: &Dataset) -> Vec<String> {
    let mut problems = Vec::new();
    let mut seen: BTreeMap<&str, &Name> = BTreeMap::new();
    if dataset.columns.is_empty() {
        problems.push("it declares no column".to_owned());
    }
    for (position, column) in dataset.columns.iter().enumerate() {
        let id = &column.id;
        if let Some(objection) = reserved::column_objection(id.as_str()) {
            problems.push(format!("a column cannot be called `{id}`: {objection}"));
        }
        if dataset.axes.iter().any(|axis| axis.id == *id) {
            problems.push(format!("column `{id}` is named like an axis"));
        }
        if dataset.columns[..position].iter().any(|other| other.id == *id) {
            problems.push(format!("column `{id}` stands in it twice"));
        }
        for field in std::iter::once(&column.field).chain(&column.aliases) {
            if let Some(other) = seen.insert(field, id) {
                problems.push(format!("field `{field}` feeds both column `{other}` and column `{id}`"));
            }
        }
    }
    problems
}

fn paging_problems(dataset: &Dataset) -> Vec<String> {
    let Paging::Page { page_param, size_param, page_size, .. } = &dataset.paging;
    let mut problems = Vec::new();
    if !(1..=100_000).contains(page_size) {
        problems.push(format!("page_size {page_size} is outside 1 to 100000"));
    }
    let mut names: Vec<&str> = dataset.params.iter().map(|param| param.name.as_str()).collect();
    names.extend([page_param.as_str(), size_param.as_str()]);
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        problems.push(format!("parameter `{}` stands in it twice", twice[0]));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine_unless_the_definition_allows_it() {
        let check = |base_url: &str, is_fine: bool, is_fine_where_allowed: bool| {
            let refused = check_base_url(base_url, PlainHttp::Loopback);
            assert_eq!(refused.is_ok(), is_fine, "{base_url}");
            assert_eq!(check_base_url(base_url, PlainHttp::Anywhere).is_ok(), is_fine_where_allowed, "{base_url}");
            if is_fine != is_fine_where_allowed {
                assert!(refused.unwrap_err().contains("keys unencrypted; write `https://`"));
            }
        };
        check("https://apis.data.go.kr", true, true);
        check("http://127.0.0.1:8080", true, true);
        check("http://127.8.9.10", true, true);
        check("http://[::1]:8080/api", true, true);
        check("http://localhost:8080", true, true);
        check("http://openapi.seoul.go.kr:8088", false, true);
        check("HTTP://openapi.seoul.go.kr:8088", false, true);
        check("http://localhost.example", false, true);
        check("http://127.0.0.1.example", false, true);
        check("http://0.0.0.0:8080", false, true);
        check("http://192.168.0.1", false, true);
        check("http://[::ffff:10.0.0.1]", false, true);
        // As 127.0.0.1 in other spellings: the URL is what is asked, so it counts.
        check("http://2130706433", true, true);
        check("http://user:word@127.0.0.1", false, false);
        check("http://127.0.0.1/", false, false);
        check("ftp://127.0.0.1", false, false);
    }
}

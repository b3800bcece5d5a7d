use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use crate::caller::{Answer, End, ProviderLimits, Ration, Unrationed};
use crate::definition::dataset::{AxisKind, Dataset};
use crate::model::outcome::TroubleKind;
use crate::model::partition::Partition;
use crate::model::secret::KeyForm;
use crate::report::exit::Exit;
use crate::report::number::counted;
use crate::report::output::printable;
use crate::store::{OpenMode, Store};

use super::args::DoctorArgs;
use super::ask::{caller, daily_calls, first_page};
use super::error::CliError;
use super::setup::{Setup, current_month};
use super::terminal::Terminal;

/// One thing that was looked at.
struct Finding {
    exit: Exit,
    what: String,
    hint: Option<String>,
}

impl Finding {
    fn good(what: impl Into<String>) -> Self {
        Self { exit: Exit::Whole, what: what.into(), hint: None }
    }

    fn bad(error: CliError) -> Self {
        Self { exit: error.exit, what: error.what, hint: error.hint }
    }
}

/// Looks at everything a night needs, one call for each dataset, and says what to mend.
pub async fn run(args: &DoctorArgs, config: Option<&Path>, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let now = Timestamp::now();
    let setup = Setup::load(config, Setup::environment(), |_| Ok(args.store.flags()))?;
    terminal.start_log(setup.settings.log_format);
    let file = setup
        .settings
        .file
        .as_ref()
        .map_or("no settings file, defaults are used".to_owned(), |file| format!("settings of {} are legal", file.display()));
    let mut findings = vec![Finding::good(file), store_and_clock(&setup, now).await];
    let datasets = datasets(args, &setup)?;
    for dataset in &datasets {
        findings.extend(ask(&setup, dataset, now).await);
    }
    let mut text = String::new();
    for Finding { exit, what, hint } in &findings {
        let mark = if *exit == Exit::Whole { "ok " } else { "BAD" };
        text.push_str(&format!("{mark}  {}\n", printable(what)));
        text.push_str(&hint.as_ref().map(|hint| format!("     {hint}\n")).unwrap_or_default());
    }
    let exit = findings.iter().map(|finding| finding.exit).max().unwrap_or(Exit::Whole);
    let next = match (exit, datasets.first()) {
        (Exit::Whole, Some(dataset)) => format!("gapless collect {} --months last:3 --regions all --dry-run", dataset.id),
        (Exit::Whole, None) => "no dataset is named or has a target, so no key was tried: gapless doctor apt_trade".to_owned(),
        _ => "mend what is BAD, then run `gapless doctor` again".to_owned(),
    };
    text.push_str(&format!("next: {next}\n"));
    terminal.print(&text)?;
    Ok(exit)
}

fn datasets<'a>(args: &'a DoctorArgs, setup: &'a Setup) -> Result<Vec<&'a Arc<Dataset>>, CliError> {
    let names: Vec<&String> =
        if args.datasets.is_empty() { setup.settings.targets.keys().collect() } else { args.datasets.iter().collect() };
    names.into_iter().map(|name| setup.dataset(name)).collect()
}

/// The store can be opened, and nothing in it was written later than now.
async fn store_and_clock(setup: &Setup, now: Timestamp) -> Finding {
    let url = match setup.store_url() {
        Ok(url) => url,
        Err(error) => return Finding::bad(error),
    };
    let newest = async {
        let store = Store::open(&url, OpenMode::ReadOnly).await?;
        store.check().await?;
        let newest = store.last_checked().await?;
        store.close().await;
        Ok::<_, CliError>(newest)
    };
    match newest.await {
        Ok(Some(newest)) if newest > now => {
            let what = format!("the clock says {now:.0}, but the store was written at {newest:.0}");
            Finding::bad(CliError { exit: Exit::LocalResource, what, hint: Some("set the clock of this machine".to_owned()) })
        }
        Ok(_) => Finding::good(format!("store {url} is sound, and the clock is not behind it")),
        Err(error) => Finding::bad(error),
    }
}

/// The key has a legal form, and a call for one row is answered.
async fn ask(setup: &Setup, dataset: &Arc<Dataset>, now: Timestamp) -> Vec<Finding> {
    let provider = setup.provider_of(dataset);
    let key = match setup.key(provider) {
        Ok(key) => key,
        Err(error) => return vec![Finding::bad(error)],
    };
    let mut findings = Vec::new();
    if let Some(key) = &key {
        let form = match key.form() {
            KeyForm::Encoded => "percent-encoded",
            KeyForm::Decoded => "decoded",
        };
        let what = format!("the key for {} has {} characters, pasted in its {form} form", provider.id, key.length());
        findings.push(Finding { hint: setup.key_file_warning(provider), ..Finding::good(what) });
    }
    let partition = example(setup, dataset, now);
    // A store that cannot be written is told of above, and its count is not to be had.
    let daily = daily_calls(setup, dataset, provider, key.as_ref()).await.ok().flatten();
    let call = first_page(&setup.catalog, dataset, provider, key, &partition, 1);
    let ration: Arc<dyn Ration> = match &daily {
        Some(daily) => daily.clone(),
        None => Arc::new(Unrationed),
    };
    findings.push(match caller(setup, vec![ProviderLimits::of(provider)], ration) {
        Ok(caller) => {
            answered(dataset, &partition, caller.fetch(call).await.map(|fetched| fetched.answer).map_err(|failure| failure.end))
        }
        Err(error) => Finding::bad(error),
    });
    if let Some(daily) = daily
        && let Err(error) = daily.settle().await
    {
        findings.push(Finding::bad(error.into()));
    }
    findings
}

fn answered(dataset: &Dataset, partition: &Partition, answer: Result<Answer, End>) -> Finding {
    let id = &dataset.id;
    match answer {
        Ok(Answer::Page(page) | Answer::Empty(page)) => {
            let rows = page.total.map_or("rows".to_owned(), |total| counted(total, "row"));
            Finding::good(format!("{id} answers: {rows} for {partition}"))
        }
        Err(End::Trouble(trouble)) => {
            let exit = match trouble.kind {
                TroubleKind::Refused => Exit::Refused,
                TroubleKind::Spent | TroubleKind::SlowDown | TroubleKind::Later => Exit::Deferred,
                TroubleKind::Retry
                | TroubleKind::Misfit
                | TroubleKind::Uneven
                | TroubleKind::Invalid
                | TroubleKind::TooBig
                | TroubleKind::Restart
                | TroubleKind::Garbled => Exit::Incomplete,
            };
            Finding { exit, what: format!("{id} does not answer: {trouble}"), hint: trouble.hint }
        }
        Err(end @ (End::Deferred { .. } | End::Interrupted | End::Abandoned)) => {
            Finding { exit: Exit::Deferred, what: format!("{id} was not asked: {end}"), hint: None }
        }
    }
}

/// A partition that is likely to have rows: the first region, two months ago, the first value.
fn example(setup: &Setup, dataset: &Dataset, now: Timestamp) -> Partition {
    let month = current_month(setup.provider_of(dataset), now).back(2).to_string();
    let value = |axis: &crate::definition::dataset::AxisDefinition| match axis.kind {
        AxisKind::Month => month.clone(),
        AxisKind::Values => axis.values.first().cloned().unwrap_or_default(),
        AxisKind::Region => {
            let list = axis.list.as_ref().and_then(|list| setup.catalog.regions(list));
            list.and_then(|list| list.iter().next()).map(|region| region.code.clone()).unwrap_or_default()
        }
    };
    Partition::new(dataset.axes.iter().map(|axis| (axis.id.clone(), value(axis))))
}

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use crate::definition::dataset::{AxisKind, Dataset};
use crate::definition::provider::Provider;
use crate::model::name::Name;
use crate::model::partition::Partition;
use crate::plan::selection::{Choice, Circumstances, Standing, order, select};
use crate::plan::target::{Target, Wish, target};
use crate::report::exit::Exit;
use crate::settings::resolved::Settings;
use crate::settings::text::read_text;
use crate::store::Store;
use crate::store::state::PartitionState;

use super::args::CollectArgs;
use super::error::CliError;
use super::setup::{Setup, current_month};

/// One dataset of the run: what is asked of whom.
pub struct Order {
    pub dataset: Arc<Dataset>,
    pub provider: Arc<Provider>,
    pub target: Target,
}

/// What each dataset is asked for: its target in the settings, narrowed by the flags.
pub fn orders(args: &CollectArgs, setup: &Setup, now: Timestamp) -> Result<Vec<Order>, CliError> {
    let names: Vec<&String> = match args.datasets.as_slice() {
        [] => setup.settings.targets.keys().collect(),
        named => named.iter().collect(),
    };
    if names.is_empty() {
        return Err(CliError::usage("no dataset is named, and the settings have no target such as `[collect.apt_trade]`")
            .with_hint(
                "name one, as in `gapless collect apt_trade --months last:3 --regions all`; see `gapless datasets list`",
            ));
    }
    let mut orders: Vec<Order> = Vec::new();
    for name in names {
        let dataset = setup.dataset(name)?;
        if orders.iter().any(|order| order.dataset.id == dataset.id) {
            continue;
        }
        let provider = setup.provider_of(dataset);
        let target = resolved(dataset, &wish(args, dataset, &setup.settings)?, setup, now)?;
        orders.push(Order { dataset: Arc::clone(dataset), provider: Arc::clone(provider), target });
    }
    Ok(orders)
}

/// What the settings say a dataset is meant to have.
pub fn target_of(dataset: &Dataset, setup: &Setup, now: Timestamp) -> Result<Target, CliError> {
    let target = setup.settings.targets.get(dataset.id.as_str()).cloned().unwrap_or_default();
    resolved(dataset, &Wish { months: target.months, regions: target.regions, ..Wish::default() }, setup, now)
}

/// Partitions of the last three months, newest first, or those that are named.
pub fn recent(dataset: &Dataset, named: &[String], setup: &Setup, now: Timestamp) -> Result<Vec<Partition>, CliError> {
    let has = |kind| dataset.axis(kind).is_some();
    let regions = setup.settings.targets.get(dataset.id.as_str()).and_then(|target| target.regions.clone());
    let wish = Wish {
        months: has(AxisKind::Month).then(|| "last:3".to_owned()),
        regions: has(AxisKind::Region).then(|| regions.unwrap_or_else(|| "all".to_owned())),
        partitions: named.to_vec(),
        ..Wish::default()
    };
    Ok(resolved(dataset, &wish, setup, now)?.partitions)
}

/// Errors: a partition that the dataset cannot have.
pub fn check_partition(dataset: &Dataset, text: &str, setup: &Setup, now: Timestamp) -> Result<(), CliError> {
    resolved(dataset, &Wish { partitions: vec![text.to_owned()], ..Wish::default() }, setup, now).map(drop)
}

fn resolved(dataset: &Dataset, wish: &Wish, setup: &Setup, now: Timestamp) -> Result<Target, CliError> {
    let month = current_month(setup.provider_of(dataset), now);
    let read = |file: &str| read_text(Path::new(file));
    target(dataset, wish, &setup.catalog, month, &read).map_err(|error| {
        let told = CliError::told(Exit::Usage, &error);
        CliError { what: format!("{}: {}", dataset.id, told.what), ..told }
    })
}

fn wish(args: &CollectArgs, dataset: &Dataset, settings: &Settings) -> Result<Wish, CliError> {
    let target = settings.targets.get(dataset.id.as_str()).cloned().unwrap_or_default();
    let mut axes = BTreeMap::new();
    for axis in &args.axes {
        let (name, values) = axis
            .split_once('=')
            .filter(|(name, values)| !name.is_empty() && !values.is_empty())
            .ok_or_else(|| CliError::usage(format!("--axis {axis} is not written as NAME=V1,V2")))?;
        if axes.insert(name.to_owned(), values.to_owned()).is_some() {
            return Err(CliError::usage(format!("--axis {name} is given twice; write all its values as `--axis {name}=V1,V2`")));
        }
    }
    for (kind, flag, given) in [(AxisKind::Month, "--months", &args.months), (AxisKind::Region, "--regions", &args.regions)] {
        let axis = dataset.axis(kind).map(|axis| axis.id.as_str()).filter(|axis| given.is_some() && axes.contains_key(*axis));
        if let Some(axis) = axis {
            return Err(CliError::usage(format!("{flag} and --axis {axis} both name values of one axis; leave one of them out")));
        }
    }
    Ok(Wish {
        months: args.months.clone().or(target.months),
        regions: args.regions.clone().or(target.regions),
        axes,
        partitions: args.partitions.clone(),
    })
}

/// What the run asks for, in the order of the work, and what it leaves for a person.
pub async fn chosen(
    args: &CollectArgs,
    orders: &[Order],
    setup: &Setup,
    store: Option<&Store>,
    now: Timestamp,
) -> Result<Choice<Name>, CliError> {
    let mut all = Choice { selected: Vec::new(), need_person: Vec::new() };
    for Order { dataset, provider, target } in orders {
        let states = match store {
            Some(store) => store.states(&dataset.id).await?,
            None => Vec::new(),
        };
        let standings = states.into_iter().map(standing).collect();
        let month = current_month(provider, now);
        let circumstances = Circumstances { only: args.only, refresh: setup.settings.refresh, now, month };
        let choice = select(&dataset.id, &target.partitions, &standings, circumstances);
        all.selected.extend(choice.selected);
        all.need_person.extend(choice.need_person);
    }
    order(&mut all.selected);
    Ok(all)
}

pub fn standing(state: PartitionState) -> (String, Standing) {
    let standing = Standing {
        is_published: state.published.is_some(),
        last_verdict: state.last.as_ref().map(|last| last.verdict),
        last_ended: state.last.map(|last| last.ended_at),
        checked_at: state.checked_at,
        strikes: state.strikes,
        pages: state.published.map(|snapshot| u32::try_from(snapshot.pages).unwrap_or(u32::MAX)),
    };
    (state.key, standing)
}

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use crate::definition::dataset::Dataset;
use crate::definition::provider::Provider;
use crate::model::name::Name;
use crate::plan::selection::{Selected, Standing, order, select};
use crate::plan::target::{Target, Wish, target};
use crate::settings::layer::read_file;
use crate::settings::resolved::Settings;
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
        let wish = wish(args, dataset, &setup.settings)?;
        let read = |file: &str| read_file(Path::new(file)).map_err(std::io::Error::other);
        let target = target(dataset, &wish, &setup.catalog, current_month(provider, now), &read)
            .map_err(|error| CliError::usage(format!("{}: {error}", dataset.id)))?;
        orders.push(Order { dataset: Arc::clone(dataset), provider: Arc::clone(provider), target });
    }
    Ok(orders)
}

fn wish(args: &CollectArgs, dataset: &Dataset, settings: &Settings) -> Result<Wish, CliError> {
    let target = settings.targets.get(dataset.id.as_str()).cloned().unwrap_or_default();
    let mut axes = BTreeMap::new();
    for axis in &args.axes {
        let (name, values) = axis
            .split_once('=')
            .filter(|(name, values)| !name.is_empty() && !values.is_empty())
            .ok_or_else(|| CliError::usage(format!("--axis {axis} is not written as NAME=V1,V2")))?;
        axes.insert(name.to_owned(), values.to_owned());
    }
    Ok(Wish {
        months: args.months.clone().or(target.months),
        regions: args.regions.clone().or(target.regions),
        axes,
        partitions: args.partitions.clone(),
    })
}

/// The partitions the run asks for, in the order of the work.
pub async fn selected(
    args: &CollectArgs,
    orders: &[Order],
    store: Option<&Store>,
    now: Timestamp,
) -> Result<Vec<Selected<Name>>, CliError> {
    let mut all = Vec::new();
    for Order { dataset, provider, target } in orders {
        let states = match store {
            Some(store) => store.states(&dataset.id).await?,
            None => Vec::new(),
        };
        let standings = states.into_iter().map(standing).collect();
        all.extend(select(&dataset.id, &target.partitions, &standings, args.only, current_month(provider, now)));
    }
    order(&mut all);
    Ok(all)
}

fn standing(state: PartitionState) -> (String, Standing) {
    let standing = Standing {
        is_published: state.published.is_some(),
        last_verdict: state.last.map(|last| last.verdict),
        pages: state.published.map(|snapshot| u32::try_from(snapshot.pages).unwrap_or(u32::MAX)),
    };
    (state.key, standing)
}

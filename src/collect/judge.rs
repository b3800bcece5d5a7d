use std::sync::Arc;

use crate::caller::Judge;
use crate::decode::{self, RawAnswer, Reading};
use crate::model::outcome::{Judgement, Scope, Trouble, TroubleKind};
use crate::model::page::Page;
use crate::model::partition::Partition;
use crate::reconcile::due::Due;
use crate::reconcile::echo::foreign_rows;

use super::source::Source;

/// Judges the answers of one call: what the dialect says of them, and whether they are the page that is due.
pub(super) fn judge_for(source: &Arc<Source>, partition: &Partition, due: Due) -> Judge {
    let (source, partition) = (Arc::clone(source), partition.clone());
    Arc::new(move |answer: RawAnswer| {
        let dataset = &source.dataset;
        let reading = Reading { records: &dataset.records, volatile: &dataset.volatile };
        let judgement = decode::judge(&answer, &source.dialect, &reading);
        let misfit = |page: &Page| due.misfit(page).or_else(|| foreign_rows(&page.records, dataset, &partition));
        let why = match &judgement {
            Judgement::Page(page) | Judgement::Empty(page) => misfit(page),
            Judgement::Trouble(_) => None,
        };
        match why {
            Some(why) => Judgement::Trouble(Trouble::plain(TroubleKind::Misfit, Scope::Job, why)),
            None => judgement,
        }
    })
}

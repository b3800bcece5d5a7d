use std::sync::Arc;

use crate::caller::Judge;
use crate::decode::{self, RawAnswer, Reading};
use crate::model::outcome::{Judgement, Scope, Trouble, TroubleKind};
use crate::model::partition::Partition;
use crate::reconcile::due::{Due, Misfit};
use crate::reconcile::echo::foreign_rows;

use super::source::Source;

/// Judges the answers of one call: what the dialect says of them, and whether they are the page that is due.
pub(super) fn judge_for(source: &Arc<Source>, partition: &Partition, due: Due) -> Judge {
    let (source, partition) = (Arc::clone(source), partition.clone());
    Arc::new(move |answer: RawAnswer| {
        let dataset = &source.dataset;
        let reading = Reading { records: &dataset.records, volatile: &dataset.volatile };
        let judgement = decode::judge(&answer, &source.dialect, &reading);
        let page = match &judgement {
            Judgement::Page(page) | Judgement::Empty(page) => page,
            Judgement::Trouble(_) => return judgement,
        };
        let wrong = |kind, why: String| Judgement::Trouble(Trouble::plain(kind, Scope::Job, why));
        match due.misfit(page) {
            Some(misfit @ Misfit::FewRows { .. }) => wrong(TroubleKind::Uneven, misfit.to_string()),
            Some(misfit) => wrong(TroubleKind::Misfit, misfit.to_string()),
            None => match foreign_rows(&page.records, dataset, &partition) {
                Some(why) => wrong(TroubleKind::Misfit, why),
                None => judgement,
            },
        }
    })
}

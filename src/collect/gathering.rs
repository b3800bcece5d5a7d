use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::caller::Caller;
use crate::model::event::Listener;
use crate::model::name::Name;
use crate::model::partition::Partition;
use crate::model::verdict::Verdict;
use crate::reconcile::guard::Suspicion;

use super::conductor::Urgency;
use super::harvest::{Gap, Harvest};
use super::source::Source;
use super::worker::{Blame, Doubt, Report};
use super::writer::{Desk, WriterGone};

/// What the workers of one provider bring home, and what follows from all of it together.
pub(super) struct Gathering {
    caller: Caller,
    desk: Desk,
    listener: Arc<dyn Listener>,
    harvest: Harvest,
    datasets: HashMap<Name, Signs>,
    /// Empty partitions of datasets that never had a row: believed once one comes.
    doubted: Vec<(Arc<Source>, Report)>,
}

/// What another run made of a partition.
pub(super) struct Found {
    pub(super) partition: Partition,
    pub(super) verdict: Verdict,
    pub(super) why: Option<String>,
    pub(super) promised: Option<u64>,
    pub(super) received: u64,
}

/// What the ended jobs of one dataset show together.
#[derive(Clone, Copy, Debug, Default)]
struct Signs {
    planned: u64,
    ended: u64,
    fell_to_zero: u64,
}

/// So many partitions that fell to zero, and more than half of all, are a fault of the source: it is asked no more.
const FALLEN: u64 = 5;
/// A first collection with so many partitions and not one row is a wrong request, not an empty source.
const WITHOUT_A_ROW: u64 = 20;

impl Gathering {
    pub(super) fn new(caller: Caller, desk: Desk, listener: Arc<dyn Listener>) -> Self {
        Self { caller, desk, listener, harvest: Harvest::default(), datasets: HashMap::new(), doubted: Vec::new() }
    }

    pub(super) fn plan(&mut self, source: &Source) {
        self.harvest.partitions.planned += 1;
        self.signs(source).planned += 1;
    }

    pub(super) fn bring_in(&mut self, source: Arc<Source>, report: Report, urgency: Urgency) {
        if report.ending.verdict == Verdict::Deferred {
            self.count_recent(urgency);
        }
        let signs = self.signs(&source);
        signs.ended += 1;
        match &report.doubt {
            Doubt::None | Doubt::Suspicious(Suspicion::FewerRows { .. } | Suspicion::ColumnsEmpty { .. }) => {}
            Doubt::Suspicious(Suspicion::ZeroAfterRows { .. }) => {
                signs.fell_to_zero += 1;
                let Signs { ended, fell_to_zero, .. } = *signs;
                if fell_to_zero >= FALLEN && fell_to_zero * 2 > ended {
                    let why = format!(
                        "{fell_to_zero} of {ended} partitions fell to zero rows: the source is in trouble, or the request"
                    );
                    self.caller.stop_api(&source.provider.id, &source.dataset.id, &why);
                }
            }
            Doubt::FirstEver => return self.doubted.push((source, report)),
        }
        self.add(&source, report);
    }

    /// Another run has collected it meanwhile: it counts as what it came to there, and its rows are not ours.
    pub(super) fn find(&mut self, source: &Source, found: Found, urgency: Urgency) {
        let Found { partition, verdict, why, promised, received } = found;
        if verdict == Verdict::Deferred {
            self.count_recent(urgency);
        }
        if received > 0 {
            source.has_had_rows.store(true, Ordering::Relaxed);
        }
        self.harvest.add(verdict);
        self.harvest.elsewhere += 1;
        if !verdict.is_published() {
            let why = format!("in another run: {}", why.unwrap_or_default());
            let gap = not_begun(source, partition, verdict.as_str(), why);
            self.harvest.add_gap(Gap { promised, received, ..gap });
        }
    }

    /// Its API is left alone, or its turn has not come: the partition was not even begun.
    pub(super) fn put_off(&mut self, source: &Source, partition: Partition, why: String, urgency: Urgency) {
        self.count_recent(urgency);
        self.harvest.add(Verdict::Deferred);
        self.harvest.add_gap(not_begun(source, partition, Verdict::Deferred.as_str(), why));
    }

    pub(super) fn skip(&mut self, source: &Source, partition: Partition, urgency: Urgency) {
        self.count_recent(urgency);
        self.harvest.partitions.skipped += 1;
        self.harvest.add_gap(not_begun(source, partition, "skipped", "the run was stopped before it was begun".to_owned()));
    }

    /// All jobs have ended: decides on the proven zeros that were not believed until a row was seen.
    pub(super) async fn finish(mut self) -> Result<Harvest, WriterGone> {
        for (source, mut report) in std::mem::take(&mut self.doubted) {
            let planned = self.signs(&source).planned;
            let is_believed = source.has_had_rows.load(Ordering::Relaxed) || planned < WITHOUT_A_ROW;
            if is_believed {
                let why = "other partitions of the dataset have rows, or few were asked for";
                self.desk.accept(source.declared.clone(), report.partition.clone(), why).await?;
                report.ending.verdict = Verdict::Empty;
            }
            self.listener.hear(&report.event(source.dataset.id.clone()));
            self.add(&source, report);
        }
        Ok(self.harvest)
    }

    fn count_recent(&mut self, urgency: Urgency) {
        self.harvest.recent_deferred += match urgency {
            Urgency::Recent => 1,
            Urgency::Known | Urgency::Backlog => 0,
        };
    }

    fn signs(&mut self, source: &Source) -> &mut Signs {
        self.datasets.entry(source.dataset.id.clone()).or_default()
    }

    fn add(&mut self, source: &Source, report: Report) {
        let ending = &report.ending;
        let harvest = &mut self.harvest;
        harvest.add(ending.verdict);
        harvest.rows.promised += ending.promised_last.unwrap_or(0);
        harvest.rows.received += ending.received;
        harvest.rows.published += report.published;
        match report.blame {
            Blame::Refused => harvest.refused += 1,
            Blame::Bug => harvest.bugs += 1,
            Blame::Otherwise => {}
        }
        if !ending.verdict.is_published() {
            harvest.add_gap(Gap {
                dataset: source.dataset.id.clone(),
                partition: report.partition,
                verdict: ending.verdict.as_str(),
                page: report.page.map(|page| page.0),
                promised: ending.promised_last,
                received: ending.received,
                why: report.why.unwrap_or_default(),
                hint: report.hint,
            });
        }
    }
}

fn not_begun(source: &Source, partition: Partition, verdict: &'static str, why: String) -> Gap {
    Gap { dataset: source.dataset.id.clone(), partition, verdict, page: None, promised: None, received: 0, why, hint: None }
}

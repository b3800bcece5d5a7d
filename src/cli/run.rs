use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::caller::{Caller, CallerSettings, ProviderLimits};
use crate::collect::breakers::BreakerLedger;
use crate::collect::conductor::{Conductor, Task};
use crate::collect::harvest::Harvest;
use crate::collect::ration::{Allowance, DailyCalls};
use crate::collect::sharing::Asked;
use crate::collect::source::Source;
use crate::collect::writer::{Keeping, Writer};
use crate::model::breaker::BreakerState;
use crate::model::event::{Listener, Listeners};
use crate::report::exit::Exit;
use crate::report::log::Log;
use crate::report::progress::Progress;
use crate::report::result::{Caps, RunResult};
use crate::report::tally::Tally;
use crate::settings::resolved::StoreSettings;
use crate::store::Store;
use crate::store::job::Superseded;
use crate::store::lock::CollectLock;
use crate::store::state::to_come;

use super::company::Company;
use super::error::CliError;
use super::signal::{self, Ending};
use super::terminal::Terminal;

/// A run about to begin: what to collect, and under which limits.
pub struct Run<'l> {
    /// The right to collect into the store.
    pub lock: &'l CollectLock,
    /// As it was typed.
    pub command: String,
    pub tasks: Vec<Task>,
    /// Partitions that are not asked and are told as missing.
    pub known: Harvest,
    pub store: Arc<Store>,
    pub keeping: StoreSettings,
    pub calling: CallerSettings,
    /// Whether limits are kept together with the other runs of the store.
    pub shared_limits: bool,
    pub caps: Caps,
    /// A partition that would need more pages is not begun.
    pub max_pages: u32,
    /// Pages of one partition that may be asked for side by side.
    pub pages_ahead: u32,
    pub max_runtime: Option<Duration>,
    /// Whether a run that left only older months for later ends well.
    pub deferred_is_ok: bool,
}

/// How long a plain progress line stands before the next.
const PLAIN_LINE_EVERY: Duration = Duration::from_secs(5);
const DRAW_EVERY: Duration = Duration::from_millis(100);

impl Run<'_> {
    /// Begins the run in the ledger, collects everything, tells of it, and ends the run.
    pub async fn execute(self, terminal: &Terminal) -> Result<(RunResult, Exit), CliError> {
        let (started_at, started) = (Timestamp::now(), Instant::now());
        let id = self.store.begin_run(self.lock, &self.command, env!("CARGO_PKG_VERSION"), started_at).await?;
        let tally = Arc::new(Tally::default());
        let planned = self.tasks.len() as u64;
        let progress = Arc::new(Progress::new(planned, self.caps.rate, self.caps.concurrency, terminal.bars.as_ref(), started));
        let key_ids = self.tasks.iter().map(|Task { source, .. }| (source.dataset.id.clone(), source.key_id.clone())).collect();
        let (breakers, breakers_kept) = BreakerLedger::start(self.store.clone(), id, key_ids, Timestamp::now);
        let heard: Vec<Arc<dyn Listener>> = vec![tally.clone(), progress.clone(), Arc::new(Log), breakers.clone()];
        let listener = Arc::new(Listeners(heard));
        let (limits, asked) = (&self.calling.providers, asked(&self.tasks));
        let company = Company::join(&self.store, id, self.shared_limits, limits, asked, listener).await?;
        let calls = Arc::new(DailyCalls::new(self.store.clone(), Timestamp::now, allowances(&self.tasks)));
        let caller = match Caller::new(self.calling, company.surroundings(calls.clone())) {
            Ok(caller) => caller,
            Err(error) => {
                // Else the next run would take this one for dead, and check the whole store.
                self.store.end_run(id, Exit::Usage.code(), Timestamp::now()).await?;
                return Err(CliError::usage(error.to_string()));
            }
        };
        recall_blocks(&self.tasks, &self.store, &caller, started_at).await?;
        company.begin(&caller).await?;
        let keeping = Keeping {
            superseded: if self.keeping.keep_snapshots { Superseded::Kept } else { Superseded::Removed },
            bodies: self.keeping.keep_bodies,
        };
        // While as many are stored as may be in flight, as many may come in.
        let room = (self.caps.concurrency as usize).clamp(2, 16) * 2;
        let writer = Writer::start(self.store.clone(), id, keeping, room, Timestamp::now, company.listener.clone())
            .map_err(|source| CliError::local("the writer cannot be started", source))?;
        let stop = CancellationToken::new();
        let ending = Ending::default();
        let conductor = Conductor {
            caller: caller.clone(),
            desk: writer.desk(),
            listener: company.listener.clone(),
            max_pages: self.max_pages,
            pages_ahead: self.pages_ahead,
            now: Timestamp::now,
            calls: Arc::clone(&calls),
            stop: stop.clone(),
        };

        let mut parting = std::pin::pin!(company.parting(&caller));
        let mut work = std::pin::pin!(conductor.collect(self.tasks));
        let mut signals =
            std::pin::pin!(signal::watch(caller.clone(), stop, ending.clone(), self.max_runtime, |text| terminal.note(text)));
        let mut draw = tokio::time::interval(DRAW_EVERY);
        let mut plain = tokio::time::interval_at(tokio::time::Instant::now() + PLAIN_LINE_EVERY, PLAIN_LINE_EVERY);
        let collected = loop {
            tokio::select! {
                collected = &mut work => break collected,
                () = &mut signals => {}
                error = &mut parting => return Err(error.into()),
                _ = draw.tick(), if terminal.bars.is_some() => progress.draw(Instant::now()),
                _ = plain.tick(), if terminal.bars.is_none() => terminal.note(&progress.line(Instant::now())),
            }
        };
        progress.finish();
        // Of a store that fails, nothing more is waited for.
        let stored = writer.finish().await;
        let mut harvest = self.known;
        match (collected, stored) {
            (Ok(collected), Ok(())) => harvest.merge(collected),
            (_, Err(error)) => return Err(error.into()),
            (Err(gone), Ok(())) => unreachable!("{gone}, and without an error"),
        }
        calls.settle().await?;
        breakers.close();
        breakers_kept.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))?;
        let exit = match exit_of(&harvest, ending.exit()) {
            Exit::Deferred if self.deferred_is_ok && harvest.recent_deferred == 0 => Exit::Whole,
            exit => exit,
        };
        let before = Timestamp::now().checked_sub(self.keeping.keep_attempts).unwrap_or(Timestamp::MIN);
        self.store.prune_attempts(before).await?;
        self.store.end_run(id, exit.code(), Timestamp::now()).await?;
        let counts = tally.counts();
        Ok((RunResult::new(id, exit, started_at, started.elapsed(), harvest, &counts, self.caps), exit))
    }
}

/// Whom a run asks, and with which keys.
fn asked(tasks: &[Task]) -> Vec<Asked> {
    let sources: BTreeMap<_, _> = tasks.iter().map(|task| (&task.source.dataset.id, &task.source)).collect();
    let of = |source: &Source| Asked {
        dataset: source.dataset.id.clone(),
        provider: source.provider.id.clone(),
        key_id: source.key_id.clone(),
    };
    sources.into_values().map(|source| of(source)).collect()
}

/// What each API of the run may be asked a day.
fn allowances(tasks: &[Task]) -> Vec<Allowance> {
    let mut by_dataset = BTreeMap::new();
    for Task { source, .. } in tasks {
        by_dataset.entry(&source.dataset.id).or_insert_with(|| Allowance {
            dataset: source.dataset.id.clone(),
            key_id: source.key_id.clone(),
            daily_calls: source.provider.daily_calls,
            zone: ProviderLimits::of(&source.provider).zone,
        });
    }
    by_dataset.into_values().collect()
}

/// What earlier runs were told of these APIs still holds.
async fn recall_blocks(tasks: &[Task], store: &Store, caller: &Caller, now: Timestamp) -> Result<(), CliError> {
    let sources: BTreeMap<_, _> = tasks.iter().map(|task| (&task.source.dataset.id, &task.source)).collect();
    for state in store.api_states().await? {
        let Some(source) = sources.get(&state.dataset).filter(|source| source.key_id == state.key_id) else { continue };
        if let Some(until) = to_come(state.blocked_until, now) {
            let why = state.why.unwrap_or_else(|| "an earlier run was told so".to_owned());
            caller.leave_alone(&source.provider.id, &source.dataset.id, until, &why);
        }
    }
    for change in store.breakers().await? {
        let Some(source) = sources.get(&change.dataset).filter(|source| source.key_id == change.key_id) else { continue };
        match change.state {
            BreakerState::Closed => {}
            // A run that ended while it was being found out whether the server is back begins with that.
            BreakerState::Open | BreakerState::HalfOpen => {
                let until = to_come(change.open_until, now).unwrap_or(now);
                caller.reopen_breaker(&source.provider.id, &source.dataset.id, until, change.openings, &change.why);
            }
        }
    }
    Ok(())
}

/// The severest thing that happened.
fn exit_of(harvest: &Harvest, signal: Option<Exit>) -> Exit {
    let counts = &harvest.partitions;
    let happened = [
        (counts.deferred + counts.skipped > 0, Exit::Deferred),
        (counts.short + counts.failed + counts.held > 0, Exit::Incomplete),
        (harvest.refused > 0, Exit::Refused),
        (harvest.bugs > 0, Exit::OwnFault),
    ];
    let severest = happened.into_iter().filter(|(has, _)| *has).map(|(_, exit)| exit).max();
    severest.max(signal).unwrap_or(Exit::Whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::harvest::PartitionCounts;

    #[test]
    fn the_exit_is_that_of_the_severest_thing() {
        let check = |partitions: PartitionCounts, refused: u64, signal: Option<Exit>, expected: Exit| {
            let harvest = Harvest { partitions, refused, ..Harvest::default() };
            assert_eq!(exit_of(&harvest, signal), expected, "{partitions:?} {refused} {signal:?}");
        };
        let none = PartitionCounts::default();
        check(none, 0, None, Exit::Whole);
        check(PartitionCounts { complete: 3, empty: 1, unverified: 1, ..none }, 0, None, Exit::Whole);
        check(PartitionCounts { deferred: 1, ..none }, 0, None, Exit::Deferred);
        check(PartitionCounts { skipped: 1, ..none }, 0, None, Exit::Deferred);
        check(PartitionCounts { deferred: 1, short: 1, ..none }, 0, None, Exit::Incomplete);
        check(PartitionCounts { failed: 1, ..none }, 0, None, Exit::Incomplete);
        check(PartitionCounts { held: 1, ..none }, 0, None, Exit::Incomplete);
        check(PartitionCounts { deferred: 1, failed: 1, ..none }, 1, None, Exit::Refused);
        check(PartitionCounts { failed: 1, ..none }, 1, Some(Exit::Interrupted), Exit::Interrupted);
        check(none, 0, Some(Exit::Terminated), Exit::Terminated);
        let harvest = Harvest { partitions: PartitionCounts { failed: 1, ..none }, refused: 1, bugs: 1, ..Harvest::default() };
        assert_eq!(exit_of(&harvest, Some(Exit::Interrupted)), Exit::OwnFault);
    }
}

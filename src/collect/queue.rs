use std::collections::{BTreeMap, VecDeque};

use crate::caller::Caller;
use crate::model::name::Name;

use super::conductor::Task;

/// The partitions of one provider that are not begun, in their order. Those of a dataset whose breaker is open are held
/// back until it is not, and then come first.
pub(super) struct Queue {
    caller: Caller,
    tasks: VecDeque<Task>,
    held_back: BTreeMap<Name, VecDeque<Task>>,
}

impl Queue {
    pub(super) fn new(tasks: Vec<Task>, caller: Caller) -> Self {
        Self { caller, tasks: tasks.into(), held_back: BTreeMap::new() }
    }

    /// Waits until a partition may be begun; whether any is left.
    pub(super) async fn ready(&mut self) -> bool {
        loop {
            match self.next() {
                Some(task) => {
                    self.tasks.push_front(task);
                    return true;
                }
                None if self.held_back.is_empty() => return false,
                // Nothing is begun any more: whoever asks finds that out.
                None if self.caller.is_stopping() => return true,
                None => {}
            }
            let provider = self.held_back.values().find_map(|tasks| tasks.front()).map(|task| task.source.provider.id.clone());
            let datasets: Vec<&Name> = self.held_back.keys().collect();
            self.caller.unparked(&provider.expect("no list of held back tasks is empty"), &datasets).await;
        }
    }

    /// What is left, in its order but for what is held back.
    pub(super) fn rest(self) -> impl Iterator<Item = Task> {
        self.held_back.into_values().flatten().chain(self.tasks)
    }

    /// The next partition that may be begun now; `None` where all that are left are held back.
    pub(super) fn next(&mut self) -> Option<Task> {
        let Self { caller, tasks, held_back } = self;
        let is_parked = |task: &Task| caller.is_parked(&task.source.provider.id, &task.source.dataset.id);
        let freed = held_back.iter().find(|(_, tasks)| tasks.front().is_none_or(|task| !is_parked(task)));
        if let Some(dataset) = freed.map(|(dataset, _)| dataset.clone()) {
            let tasks = held_back.get_mut(&dataset).expect("it was found above");
            let task = tasks.pop_front();
            if tasks.is_empty() {
                held_back.remove(&dataset);
            }
            return task;
        }
        while let Some(task) = tasks.pop_front() {
            if !held_back.contains_key(&task.source.dataset.id) && !is_parked(&task) {
                return Some(task);
            }
            held_back.entry(task.source.dataset.id.clone()).or_default().push_back(task);
        }
        None
    }
}

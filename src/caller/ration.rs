use std::fmt;
use std::pin::Pin;

use jiff::Timestamp;

use crate::model::name::Name;

/// Counts the calls of a day before they are sent, so that no day has more than its provider grants.
///
/// Whoever keeps it must count durably: a call that was taken counts as sent, whatever becomes of the program.
pub trait Ration: Send + Sync {
    /// Takes one call of a dataset. Errors: the day's calls are used up, or they cannot be counted.
    fn take<'a>(&'a self, dataset: &'a Name) -> Pin<Box<dyn Future<Output = Result<(), Exhausted>> + Send + 'a>>;

    /// A call that was taken and is not sent after all.
    fn give_back(&self, dataset: &Name);
}

/// No further call may be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exhausted {
    /// When calls are counted anew; `None`: not in this run.
    pub until: Option<Timestamp>,
    pub why: String,
}

/// No day has a limit.
#[derive(Debug)]
pub struct Unrationed;

impl Ration for Unrationed {
    fn take<'a>(&'a self, _: &'a Name) -> Pin<Box<dyn Future<Output = Result<(), Exhausted>> + Send + 'a>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn give_back(&self, _: &Name) {}
}

impl fmt::Debug for dyn Ration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ration")
    }
}

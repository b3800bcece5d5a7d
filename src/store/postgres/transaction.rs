//! Transactions, and what is done when one does not come to its end.

use std::cell::RefCell;
use std::time::Duration;

use super::link::{Answer, Link, Order};
use super::patience::Patience;
use super::script::{self, Access};
use super::session::Handle;
use super::values::{Told, ToldLine};
use super::{Server, failure, lease};
use crate::model::job::RunId;
use crate::store::blocking::blocking;
use crate::store::error::{DatabaseFailure, StoreError};
use crate::store::tx::{Session, Tx};

/// How long the answer to a statement of a transaction that writes is waited for.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// The one connection that writes.
///
/// Each of its transactions counts itself in a line of its own: of one whose commit was not answered, that line tells
/// whether it happened.
#[derive(Debug)]
pub struct Writer {
    pub(super) link: Option<Link>,
    id: String,
    mark: i64,
    /// The run whose writes these are: it must hold its lease.
    pub run: Option<RunId>,
}

/// A transaction whose commit was not answered, with what it brought.
struct Uncertain<T> {
    mark: i64,
    done: T,
}

impl Writer {
    /// Connects, and learns at once whether we may write.
    pub fn begin(link: Link, server: &Server) -> Result<Self, StoreError> {
        const NEW_WRITER: &str = "insert into writer (id, mark, seen_at) values (?1, 0, clock_timestamp())";
        const FORGET: &str = "delete from writer where seen_at < clock_timestamp() - interval '7 days'";
        let failed = |source| failure::of_sqlx(&server.place, source);
        link.ask(Order::Script(script::begin(&server.schema, Access::Pages))).map_err(failed)?;
        let handle = server.handle(&link);
        let id = Tx::new(&handle).random_token()?;
        handle.change(NEW_WRITER, &[id.as_str().into()])?;
        handle.change(FORGET, &[])?;
        handle.script("commit".to_owned())?;
        drop(handle);
        Ok(Self { link: Some(link), id, mark: 0, run: None })
    }

    /// Does `work` in one transaction and commits it, again from the start if need be.
    pub async fn write<T>(
        &mut self,
        server: &Server,
        access: Access,
        work: impl Fn(&Tx<'_>) -> Result<T, StoreError> + Send,
    ) -> Result<T, StoreError> {
        let mut uncertain = None;
        let mut patience = Patience::of(server.patience);
        loop {
            match blocking(|| self.try_once(server, access, &work, &mut uncertain)) {
                Err(error) if patience.outlasts(&error).await => tracing::debug!(%error, "a transaction is done again"),
                done => return done,
            }
        }
    }

    fn try_once<T>(
        &mut self,
        server: &Server,
        access: Access,
        work: &impl Fn(&Tx<'_>) -> Result<T, StoreError>,
        uncertain: &mut Option<Uncertain<T>>,
    ) -> Result<T, StoreError> {
        let link = match self.link.take() {
            Some(link) => link,
            None => server.connect(ANSWER_TIMEOUT)?,
        };
        let failed = |source| failure::of_sqlx(&server.place, source);
        let mut begin = script::begin(&server.schema, access);
        begin.extend(self.run.map(lease::question));
        let begun = link.ask(Order::Script(begin)).map_err(failed)?;
        let handle = server.handle(&link);
        if let Some(before) = uncertain.take() {
            match self.committed(&handle) {
                Ok(mark) if mark >= before.mark => {
                    drop(handle);
                    self.take_back(link);
                    return Ok(before.done);
                }
                Ok(_) => (),
                Err(error) => {
                    *uncertain = Some(before);
                    return Err(error);
                }
            }
        }
        if let Some(run) = self.run
            && !is_held(&begun)
        {
            drop(handle);
            self.take_back(link);
            return Err(StoreError::LeaseOver { place: server.place.clone(), run });
        }
        let done = match work(&Tx::new(&handle)) {
            Ok(done) => done,
            Err(error) => {
                drop(handle);
                self.take_back(link);
                return Err(error);
            }
        };
        self.mark += 1;
        let last = handle.unsent.into_inner() + &script::commit(&self.id, self.mark);
        match link.ask(Order::Script(last)) {
            Ok(_) => {
                self.link = Some(link);
                Ok(done)
            }
            Err(source) => {
                if !failure::is_refusal(&source) {
                    *uncertain = Some(Uncertain { mark: self.mark, done });
                }
                Err(failed(source))
            }
        }
    }

    /// The latest of our transactions that was committed.
    ///
    /// Waits for one that the server has not finished yet: it holds the line.
    fn committed(&self, handle: &Handle<'_>) -> Result<i64, StoreError> {
        const MARK: &str = "select mark from writer where id = ?1 for update";
        let mark = Tx::new(handle).first(MARK, &[self.id.as_str().into()], |line| line.get(0))?;
        mark.ok_or_else(|| StoreError::Database {
            place: handle.place.clone(),
            failure: DatabaseFailure::Unforeseen,
            source: "the line of this writer is gone".into(),
        })
    }

    /// Undoes what is open and keeps the connection, if it still answers.
    fn take_back(&mut self, link: Link) {
        if link.ask(Order::Script("rollback".to_owned())).is_ok() {
            self.link = Some(link);
        }
    }

    pub fn close(self, server: &Server) {
        const GONE: &str = "delete from writer where id = ?1";
        let Some(link) = self.link else { return };
        // Nothing hangs on it: lines of writers that are gone are forgotten after a while.
        if link.ask(Order::Script(script::begin(&server.schema, Access::Pages))).is_ok()
            && server.handle(&link).execute(GONE, &[self.id.as_str().into()]).is_ok()
        {
            link.ask(Order::Script("commit".to_owned())).ok();
        }
        link.close();
    }
}

impl Server {
    pub fn connect(&self, answer_time: Duration) -> Result<Link, StoreError> {
        Link::connect(&self.handle, &self.options, answer_time).map_err(|source| failure::of_sqlx(&self.place, source))
    }

    pub fn handle<'a>(&'a self, link: &'a Link) -> Handle<'a> {
        Handle { link, place: &self.place, reader_role: self.reader_role.as_ref(), lease: self.lease, unsent: RefCell::default() }
    }
}

/// The last answer to what a transaction begins with tells it.
fn is_held(begun: &Answer) -> bool {
    begun.rows.last().and_then(ToldLine::of).is_some_and(|line| line.0 == [Told::Integer(1)])
}

/// A query may take its time over a large store; but a way that was lost without a word brings no answer at all.
pub fn connect_reader(server: &Server) -> Result<Link, StoreError> {
    server.connect(server.patience * 4)
}

/// Does `work` in one transaction that only reads.
pub fn read<T>(link: &Link, server: &Server, mut work: impl FnMut(&Tx<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
    let failed = |source| failure::of_sqlx(&server.place, source);
    link.ask(Order::Script(script::begin(&server.schema, Access::Read))).map_err(failed)?;
    let done = work(&Tx::new(&server.handle(link)))?;
    link.ask(Order::Script("commit".to_owned())).map_err(failed)?;
    Ok(done)
}

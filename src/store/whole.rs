//! What is done with a store as a whole.

use std::path::Path;

use super::Store;
use super::error::StoreError;
use super::ledger::carry_tables::TABLES;
use super::ledger::{carry, states};
use crate::model::job::{JobId, RunId};
use crate::model::name::Name;

/// What a copy came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Jobs whose rows were compared, value by value.
    pub compared: u64,
    /// Of them, those that were there already: a copy that was broken off goes on.
    pub there_before: u64,
}

impl Store {
    /// What it takes on the disk, in bytes.
    pub async fn bytes(&self) -> Result<u64, StoreError> {
        self.engine.bytes().await
    }

    /// The datasets that have tables.
    pub async fn datasets(&self) -> Result<Vec<String>, StoreError> {
        self.engine.read(states::datasets).await
    }

    /// Copies the whole store to a new file, as it is at one moment, while others write on; the file is there whole or
    /// not at all. Errors: something that is there already; a store on a server.
    pub async fn backup(&self, to: &Path) -> Result<(), StoreError> {
        self.engine.backup(to).await
    }

    /// Carries everything over to an empty store, or goes on with a copy that was broken off: ledger, snapshots, kept
    /// bodies, and what is remembered of APIs. Then compares the ledger and all rows. Where this store was written to since
    /// the copy was begun, that begins anew.
    ///
    /// Errors: a run that is still at work here, or was meanwhile; a target that is used already; what differs at the end.
    pub async fn copy_to(&self, to: &Store) -> Result<Copied, StoreError> {
        if let Some(run) = self.engine.read(carry::living_run).await? {
            return Err(StoreError::RunAtWork { run: RunId(run) });
        }
        let (salt, ledger) = self.engine.read(|tx| Ok((states::salt(tx)?, carry::fingerprint(tx)?))).await?;
        let (is_used, begun_from) = to.engine.read(|tx| Ok((carry::is_used(tx)?, carry::begun_from(tx)?))).await?;
        if is_used && begun_from.is_none() || begun_from.is_some() && to.salt().await? != salt {
            return Err(StoreError::NotEmpty);
        }
        let is_outdated = begun_from.is_some_and(|begun_from| begun_from != ledger);
        to.engine
            .write(|tx| {
                if is_outdated {
                    carry::clear(tx)?;
                }
                carry::begin(tx, &ledger, &salt)
            })
            .await?;
        let there = match self.carry_over(to).await {
            // Lines that were written meanwhile refer to others that were read before.
            Err(error) => {
                let was_written_to = self.engine.read(carry::fingerprint).await.is_ok_and(|now| now != ledger);
                return Err(if was_written_to { StoreError::WrittenMeanwhile } else { error });
            }
            Ok(there) => there,
        };
        let (ledger_here, here) = self.engine.read(|tx| Ok((carry::fingerprint(tx)?, carry::digests(tx)?))).await?;
        if ledger_here != ledger {
            return Err(StoreError::WrittenMeanwhile);
        }
        let (ledger_there, copied) = to.engine.read(|tx| Ok((carry::fingerprint(tx)?, carry::digests(tx)?))).await?;
        if let Some((job, _)) = here.iter().find(|digest| copied.binary_search(digest).is_err()) {
            return Err(StoreError::CopyDiffers { job: JobId(*job) });
        }
        if ledger_there != ledger || here.len() != copied.len() {
            return Err(StoreError::LedgerDiffers);
        }
        to.engine.write(carry::end).await?;
        Ok(Copied { compared: here.len() as u64, there_before: there })
    }

    /// Carries over what is not there yet; returns of how many jobs there were pages before.
    async fn carry_over(&self, to: &Store) -> Result<u64, StoreError> {
        for table in TABLES {
            loop {
                let known = to.engine.read(|tx| carry::known(tx, table)).await?;
                let lines = self.engine.read(|tx| carry::next_lines(tx, table, known)).await?;
                if lines.is_empty() {
                    break;
                }
                let is_layout = table.name == "declared_column";
                to.engine
                    .write(|tx| {
                        carry::write_lines(tx, table, &lines)?;
                        if is_layout { carry::make_tables(tx) } else { Ok(()) }
                    })
                    .await?;
            }
        }
        let there = to.engine.read(carry::jobs_with_pages).await?;
        for job in self.engine.read(carry::jobs_with_pages).await? {
            if there.binary_search(&job).is_err() {
                let snapshot = self.engine.read(|tx| carry::snapshot(tx, job)).await?;
                to.engine.write(|tx| carry::write_snapshot(tx, &snapshot)).await?;
            }
        }
        let pointers = self.engine.read(carry::pointers).await?;
        to.engine.write(|tx| carry::write_pointers(tx, &pointers)).await?;
        Ok(there.len() as u64)
    }

    /// Errors: a store that a copy was begun into and is not whole yet, so that nothing it says is true.
    pub async fn refuse_half_copied(&self) -> Result<(), StoreError> {
        self.engine.read(carry::refuse_half_copied).await
    }

    /// Lets the role that the settings name as reader read whatever is there.
    pub async fn admit_reader(&self) -> Result<(), StoreError> {
        self.engine.admit_reader().await
    }

    /// Lets a role of the server collect into the tables that are there.
    ///
    /// Errors: a store that has no roles.
    pub async fn admit(&self, role: &Name) -> Result<(), StoreError> {
        self.engine.admit(role).await
    }
}

//! Snapshots of whole clients: written again when the journal is long, advanced to other rows,
//! replaced by the next client.

use super::DurableState;
use crate::state::StateError;
use crate::state::disk::disk_error;
use crate::state::metadata::{JournalMarks, RowsVersion, Snapshot, StateTransaction};
use crate::state::preparation_file::{NextClientFiles, PreparationBinding, PreparationLease};
use crate::state::snapshot;
use crate::{ClientError, Result};
use sotto_core::AnyClient;
use std::sync::Arc;

/// Bytes of the journal below which a new snapshot is never worth its cost.
const JOURNAL_BYTES: u64 = 64 << 10;
/// Divisor of the snapshot's size that gives the maximum size of its journal.
const JOURNAL_PART: u64 = 4;

impl DurableState {
    /// Writes a snapshot of the client if the journal is long enough to be worth it.
    ///
    /// # Errors
    /// [`StateError`]. A full disk is no error: the journal continues.
    pub(crate) fn compact(&mut self, client: &mut dyn AnyClient) -> Result<()> {
        let Some(Snapshot { bytes, epoch, rows, .. }) = self.metadata.snapshot else { return Ok(()) };
        if self.marks.bytes <= JOURNAL_BYTES.max(bytes / JOURNAL_PART) {
            return Ok(());
        }
        match self.replace(client, RowsVersion { epoch, rows }, false) {
            Err(ClientError::State(StateError::Full { .. })) if !self.broken => Ok(()),
            outcome => outcome,
        }
    }

    /// Writes a snapshot of a client that was advanced to other rows. Its logged requests stay.
    ///
    /// # Errors
    /// [`StateError`]. The earlier snapshot is still there, and no more queries may be made.
    pub(crate) fn commit_advanced(&mut self, client: &mut dyn AnyClient, to: RowsVersion) -> Result<()> {
        let outcome = self.replace(client, to, false);
        self.broken |= outcome.is_err();
        outcome
    }

    /// Makes a prepared client the client of this state, in place of the previous one. The previous
    /// client's key and its requests are forgotten.
    ///
    /// # Errors
    /// [`StateError`].
    pub(crate) fn adopt(&mut self, client: &mut dyn AnyClient, at: RowsVersion) -> Result<()> {
        self.replace(client, at, true)?;
        self.committed.clear();
        Ok(())
    }

    /// Leases the files with which the next client is prepared, in this thread or another, and
    /// revokes the previous lease.
    pub(crate) fn lease_preparation(&mut self) -> NextClientFiles {
        self.generation += 1;
        let (disk, binding) = (Arc::clone(&self.paths.disk), PreparationBinding::of(&self.metadata));
        self.lease = None;
        self.lease.insert(PreparationLease(NextClientFiles::new(disk, binding, self.generation))).0.clone()
    }

    /// Whether `files` are the files that were leased last, and the lease was not revoked.
    pub(crate) fn has_leased(&self, files: Option<&NextClientFiles>) -> bool {
        self.lease.as_ref().zip(files).is_some_and(|(PreparationLease(lease), files)| lease.is(files))
    }

    /// Makes a client the client of this state, as [`DurableState::adopt`] does, from a snapshot
    /// that was written under the last lease.
    ///
    /// # Errors
    /// [`StateError`].
    pub(crate) fn adopt_written(&mut self, snapshot: Snapshot) -> Result<()> {
        self.check_usable()?;
        self.switch(snapshot, true)?;
        self.committed.clear();
        Ok(())
    }

    fn replace(&mut self, client: &mut dyn AnyClient, at: RowsVersion, is_new: bool) -> Result<()> {
        self.check_usable()?;
        self.generation += 1;
        let snapshot = self.write(client, at)?;
        self.switch(snapshot, is_new)
    }

    /// Makes a snapshot on disk the current one. The next client's files end with the previous
    /// client.
    fn switch(&mut self, snapshot: Snapshot, is_new: bool) -> Result<()> {
        let before = self.metadata.snapshot.replace(snapshot);
        let mut marks =
            JournalMarks { entries: (self.marks.entries.1, self.marks.entries.1), bytes: 0, ..self.marks };
        if is_new {
            self.metadata.clients += 1;
            marks.counter += 1;
            marks.requests.1 = 0;
        }
        let metadata = self.metadata.clone();
        let (metadata, forget_journal, forget_requests) = (Some(&metadata), true, is_new);
        self.apply(&StateTransaction {
            metadata,
            marks,
            forget_journal,
            forget_requests,
            ..StateTransaction::default()
        })?;
        if is_new {
            self.advance_counter()?;
            self.lease = None;
        }
        // The client in memory may not be the one on disk any more. If the old files cannot be
        // removed, opening the state again removes them.
        self.broken = true;
        if is_new {
            self.paths.sweep_pass(Some(&self.metadata))?;
        }
        if let Some(before) = before {
            let old = snapshot::name(before.generation);
            self.paths.disk.remove(&old).map_err(|error| self.paths.at(error))?;
        }
        self.broken = false;
        Ok(())
    }

    fn write(&self, client: &mut dyn AnyClient, at: RowsVersion) -> Result<Snapshot> {
        let disk = self.paths.disk.as_ref();
        let written = snapshot::write(disk, client, self.generation, at, self.metadata.params);
        written.map_err(|error| disk_error(disk, error))
    }
}

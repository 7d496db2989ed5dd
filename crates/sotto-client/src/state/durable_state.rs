//! The durable state of a client: nothing is sent before it is durable, and an old copy is never
//! used.
//!
//! | module | contents |
//! |---|---|
//! | `snapshots` | whole clients: compacted, advanced to other rows, replaced by the next one |
//!
//! ```text
//! commit         one transaction: journal, request, counter + 1    then the rollback counter   then the request may be sent
//! commit_hints   one transaction: journal
//! settle         one transaction: journal, the request is removed  then the row is returned
//! adopt          a snapshot; one transaction: it is current        then the rollback counter   then the old one is removed
//! ```
//!
//! After a crash the state is as it was before or after a transaction, and the rollback counter is
//! at most one behind.

mod snapshots;

use super::metadata::{
    FILE, FORMAT, JournalMarks, RowsVersion, Snapshot, StateMetadata, StateRequirement, StateTransaction,
};
use super::open::{LoadedState, StateOnDisk, StatePaths};
use super::preparation_file::PreparationLease;
use super::rollback_counter::RollbackCounter;
use super::snapshot::ClientReader;
use super::state_file::StateFile;
use super::{StateError, StateLoss};
use crate::Result;
use crate::session::logged_request::{JournalEntry, LoggedRequest};
use sotto_core::{AnyClient, CryptoRng, Epoch, Error, Misuse};

/// A request that is on disk. Only such a request can be sent, and this type is made here alone.
#[derive(Clone)]
pub(crate) struct CommittedRequest {
    id: u64,
    logged: LoggedRequest,
}

impl CommittedRequest {
    /// The logged request to send.
    pub(crate) fn logged(&self) -> &LoggedRequest {
        &self.logged
    }
}

/// An open state.
pub(crate) struct DurableState {
    store: StateFile,
    rollback_counter: RollbackCounter,
    metadata: StateMetadata,
    marks: JournalMarks,
    committed: Vec<CommittedRequest>,
    /// Largest generation of any snapshot.
    generation: u64,
    /// Lease of the files with which the next client is prepared, if there is one.
    lease: Option<PreparationLease>,
    /// Whether a write has failed, so that memory may be ahead of the disk.
    broken: bool,
    /// Dropped last, since it holds the lock, and a waiting process opens the state at once.
    paths: StatePaths,
}

/// Result of opening a state.
pub(crate) struct OpenedState {
    pub(crate) state: DurableState,
    /// The client; `None` if it has to be prepared first.
    pub(crate) client: Option<Box<dyn AnyClient>>,
    /// Reason why an existing state was discarded, if it was.
    pub(crate) loss: Option<StateLoss>,
    /// Reason why a half-done preparation was discarded, if it was.
    pub(crate) dropped: Option<String>,
}

impl DurableState {
    /// Opens a state, and makes a new one if there is none that may be used.
    ///
    /// # Errors
    /// [`StateError`].
    pub(crate) fn open(
        paths: StatePaths,
        requirement: &StateRequirement,
        reader: ClientReader<'_>,
        rng: &mut dyn CryptoRng,
    ) -> Result<OpenedState> {
        let store = match paths.store() {
            // The making of the file was interrupted. Without a snapshot there never was a
            // client to lose.
            Err(StateError::Unusable { .. }) if !paths.has_snapshots()? => {
                paths.remove_store()?;
                paths.store()?
            }
            outcome => outcome?,
        };
        let loss = match paths.load(&store, requirement, reader)? {
            StateOnDisk::State(loaded) => {
                let LoadedState { metadata, marks, rollback_counter, client, requests } = *loaded;
                let generation = paths.sweep(metadata.snapshot.map(|snapshot| snapshot.generation))?;
                let dropped = paths.sweep_pass(Some(&metadata))?;
                let committed =
                    requests.into_iter().map(|(id, logged)| CommittedRequest { id, logged }).collect();
                let (lease, broken) = (None, false);
                let mut state = DurableState {
                    paths,
                    store,
                    rollback_counter,
                    metadata,
                    marks,
                    committed,
                    generation,
                    lease,
                    broken,
                };
                // A crash may have left the rollback counter one behind, and the next crash must
                // not make it two.
                state.advance_counter()?;
                return Ok(OpenedState { state, client, loss: None, dropped });
            }
            StateOnDisk::Nothing => {
                drop(store);
                None
            }
            StateOnDisk::Unusable { id, why, keep_counter } => {
                drop(store);
                paths.clear(&id, keep_counter)?;
                why
            }
        };
        let state = DurableState::begin(paths, requirement, rng)?;
        Ok(OpenedState { state, client: None, loss, dropped: None })
    }

    /// Discards the state, for a reason that only the caller knows, and makes a new one of the same
    /// table.
    pub(crate) fn start_over(self, rng: &mut dyn CryptoRng) -> Result<DurableState> {
        let DurableState { paths, store, metadata, lease, .. } = self;
        drop((store, lease));
        paths.clear(&metadata.id, false)?;
        let StateMetadata { table, origin, scheme, public_key, params, literal, .. } = metadata;
        DurableState::begin(
            paths,
            &StateRequirement { table, origin, scheme, public_key, params, literal },
            rng,
        )
    }

    /// Fails if the state does not belong to what is required.
    ///
    /// # Errors
    /// [`StateError::WrongState`].
    pub(crate) fn check(&self, requirement: &StateRequirement) -> Result<(), StateError> {
        self.metadata.check(requirement, &self.paths.disk.path())
    }

    /// Makes a new state without a client.
    fn begin(
        paths: StatePaths,
        requirement: &StateRequirement,
        rng: &mut dyn CryptoRng,
    ) -> Result<DurableState> {
        let mut store = paths.store()?;
        let mut id = [0; 16];
        rng.fill_bytes(&mut id);
        let mut metadata = StateMetadata {
            format: FORMAT.to_owned(),
            id: id.iter().map(|byte| format!("{byte:02x}")).collect(),
            table: requirement.table.clone(),
            origin: requirement.origin.clone(),
            scheme: requirement.scheme.clone(),
            public_key: requirement.public_key.clone(),
            params: requirement.params,
            literal: requirement.literal.clone(),
            clients: 0,
            has_counter: false,
            snapshot: None,
            home: paths.disk.home(FILE).map_err(|error| paths.at(error))?,
        };
        let marks = JournalMarks::default();
        let mut write = |metadata: &StateMetadata| {
            let change = StateTransaction { metadata: Some(metadata), marks, ..StateTransaction::default() };
            store.apply(&change).map_err(|error| paths.broken(error))
        };
        write(&metadata)?;
        let rollback_counter = RollbackCounter::make(paths.counters.as_ref(), &metadata.id)
            .map_err(|error| paths.at_counter(error))?;
        metadata.has_counter = true;
        write(&metadata)?;
        let generation = paths.sweep(None)?;
        paths.sweep_pass(None)?;
        let (committed, lease, broken) = (Vec::new(), None, false);
        Ok(DurableState {
            paths,
            store,
            rollback_counter,
            metadata,
            marks,
            committed,
            generation,
            lease,
            broken,
        })
    }

    /// The version of the rows that the client is made from; `None` before there is a client.
    pub(crate) fn at(&self) -> Option<RowsVersion> {
        self.metadata.snapshot.map(|Snapshot { epoch, rows, .. }| RowsVersion { epoch, rows })
    }

    /// The requests that were committed and are not settled, the oldest first.
    pub(crate) fn committed(&self) -> &[CommittedRequest] {
        &self.committed
    }

    /// Makes a request durable, so that it may be sent to servers of `epoch`.
    ///
    /// # Errors
    /// [`StateError`]. Then nothing may be sent, and no more queries may be made with this client.
    pub(crate) fn commit(&mut self, entry: &JournalEntry, epoch: Epoch) -> Result<CommittedRequest> {
        if self.at().is_none_or(|at| at.epoch != epoch) {
            return Err(
                Error::from(Misuse::Rule("request committed for another epoch than the state's")).into()
            );
        }
        let id = self.marks.requests.0;
        let mut marks = self.appended(&entry.journal);
        marks.counter += 1;
        marks.requests = (id + 1, marks.requests.1 + 1);
        let logged = entry.logged.encode();
        let change = StateTransaction {
            marks,
            append: self.entry(&entry.journal),
            logged: Some((id, &logged)),
            ..StateTransaction::default()
        };
        self.apply(&change)?;
        self.advance_counter()?;
        let committed = CommittedRequest { id, logged: entry.logged.clone() };
        self.committed.push(committed.clone());
        Ok(committed)
    }

    /// Makes durable what the client learned from the answers to a request; with `whole`, the
    /// request is settled and forgotten.
    ///
    /// # Errors
    /// [`StateError`]. The rows may be returned to the caller only after a success.
    pub(crate) fn settle(&mut self, committed: &CommittedRequest, journal: &[u8], whole: bool) -> Result<()> {
        let mut marks = self.appended(journal);
        if whole {
            marks.requests.1 = marks.requests.1.saturating_sub(1);
        }
        let settle = whole.then_some(committed.id);
        self.apply(&StateTransaction {
            marks,
            append: self.entry(journal),
            settle,
            ..StateTransaction::default()
        })?;
        self.committed.retain(|other| !whole || other.id != committed.id);
        Ok(())
    }

    /// Makes durable what changed in the client without a query: hints that arrived, and need not
    /// be requested again.
    ///
    /// # Errors
    /// [`StateError`].
    pub(crate) fn commit_hints(&mut self, journal: &[u8]) -> Result<()> {
        let marks = self.appended(journal);
        Ok(self.apply(&StateTransaction {
            marks,
            append: self.entry(journal),
            ..StateTransaction::default()
        })?)
    }

    fn entry<'a>(&self, journal: &'a [u8]) -> Option<(u64, &'a [u8])> {
        (!journal.is_empty()).then_some((self.marks.entries.1, journal))
    }

    fn appended(&self, journal: &[u8]) -> JournalMarks {
        let mut marks = self.marks;
        if !journal.is_empty() {
            marks.entries.1 += 1;
            marks.bytes += journal.len() as u64;
        }
        marks
    }

    fn check_usable(&self) -> Result<(), StateError> {
        if self.broken { Err(StateError::Broken) } else { Ok(()) }
    }

    /// Applies one transaction. If it fails, it is unknown whether it is on disk.
    fn apply(&mut self, change: &StateTransaction<'_>) -> Result<(), StateError> {
        self.check_usable()?;
        self.broken = true;
        self.store.apply(change).map_err(|error| self.paths.broken(error))?;
        self.marks = change.marks;
        self.broken = false;
        Ok(())
    }

    /// Advances the rollback counter to the state's counter.
    fn advance_counter(&mut self) -> Result<(), StateError> {
        self.broken = true;
        self.rollback_counter.set(self.marks.counter).map_err(|error| self.paths.at_counter(error))?;
        self.broken = false;
        Ok(())
    }
}

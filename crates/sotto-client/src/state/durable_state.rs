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

use super::database::StateDb;
use super::metadata::{FORMAT, JournalMarks, RowsVersion, Snapshot, StateMetadata, StateRequirement};
use super::open::{LoadedState, StateOnDisk, StatePaths};
use super::preparation_file::PreparationLease;
use super::rollback_counter::RollbackCounter;
use super::snapshot::ClientReader;
use super::transaction::{FILE, StateTransaction};
use super::{StateError, StateLoss};
use crate::Result;
use crate::session::logged_request::{JournalEntry, LoggedRequest};
use sotto_core::{AnyClient, CryptoRng, Epoch, Error, Misuse};

/// A request that is on disk. Only such a request can be sent, and this type is made here alone.
#[derive(Clone)]
pub(crate) struct CommittedRequest {
    id: u64,
    record: LoggedRequest,
}

impl CommittedRequest {
    /// The logged request to send.
    pub(crate) fn record(&self) -> &LoggedRequest {
        &self.record
    }
}

/// An open state.
pub(crate) struct DurableState {
    store: StateDb,
    anchor: RollbackCounter,
    about: StateMetadata,
    marks: JournalMarks,
    recorded: Vec<CommittedRequest>,
    /// Largest generation of any snapshot.
    generation: u64,
    /// Lease of the files with which the next client is prepared, if there is one.
    lent: Option<PreparationLease>,
    /// Whether a write has failed, so that memory may be ahead of the disk.
    broken: bool,
    /// Dropped last, since it holds the lock, and a waiting process opens the database at once.
    location: StatePaths,
}

/// Result of opening a state.
pub(crate) struct OpenedState {
    pub(crate) keeper: DurableState,
    /// The client; `None` if it has to be prepared first.
    pub(crate) client: Option<Box<dyn AnyClient>>,
    /// Reason why an existing state was discarded, if it was.
    pub(crate) lost: Option<StateLoss>,
    /// Reason why a half-done preparation was discarded, if it was.
    pub(crate) dropped: Option<String>,
}

impl DurableState {
    /// Opens a state, and makes a new one if there is none that may be used.
    ///
    /// # Errors
    /// [`StateError`].
    pub(crate) fn open(
        location: StatePaths,
        wanted: &StateRequirement,
        how: ClientReader<'_>,
        rng: &mut dyn CryptoRng,
    ) -> Result<OpenedState> {
        let store = match location.store() {
            // The making of the database was interrupted. Without a snapshot there never was a
            // client to lose.
            Err(StateError::Unusable { .. }) if !location.has_snapshots()? => {
                location.remove_store()?;
                location.store()?
            }
            outcome => outcome?,
        };
        let lost = match location.load(&store, wanted, how)? {
            StateOnDisk::State(loaded) => {
                let LoadedState { about, marks, anchor, client, asks } = *loaded;
                let generation = location.sweep(about.snapshot.map(|snapshot| snapshot.generation))?;
                let dropped = location.sweep_pass(Some(&about))?;
                let recorded = asks.into_iter().map(|(id, record)| CommittedRequest { id, record }).collect();
                let (lent, broken) = (None, false);
                let mut keeper = DurableState {
                    location,
                    store,
                    anchor,
                    about,
                    marks,
                    recorded,
                    generation,
                    lent,
                    broken,
                };
                // A crash may have left the rollback counter one behind, and the next crash must
                // not make it two.
                keeper.anchored()?;
                return Ok(OpenedState { keeper, client, lost: None, dropped });
            }
            StateOnDisk::Nothing => {
                drop(store);
                None
            }
            StateOnDisk::Unusable { id, why, keep_anchor } => {
                drop(store);
                location.clear(&id, keep_anchor)?;
                why
            }
        };
        let keeper = DurableState::begin(location, wanted, rng)?;
        Ok(OpenedState { keeper, client: None, lost, dropped: None })
    }

    /// Discards the state, for a reason that only the caller knows, and makes a new one of the same
    /// table.
    pub(crate) fn start_over(self, rng: &mut dyn CryptoRng) -> Result<DurableState> {
        let DurableState { location, store, about, lent, .. } = self;
        drop((store, lent));
        location.clear(&about.id, false)?;
        let StateMetadata { table, origin, scheme, public_key, params, literal, .. } = about;
        DurableState::begin(
            location,
            &StateRequirement { table, origin, scheme, public_key, params, literal },
            rng,
        )
    }

    /// Fails if the state does not belong to what is required.
    ///
    /// # Errors
    /// [`StateError::WrongState`].
    pub(crate) fn check(&self, wanted: &StateRequirement) -> Result<(), StateError> {
        self.about.check(wanted, &self.location.disk.path())
    }

    /// Makes a new state without a client.
    fn begin(
        location: StatePaths,
        wanted: &StateRequirement,
        rng: &mut dyn CryptoRng,
    ) -> Result<DurableState> {
        let store = location.store()?;
        let mut id = [0; 16];
        rng.fill_bytes(&mut id);
        let mut about = StateMetadata {
            format: FORMAT.to_owned(),
            id: id.iter().map(|byte| format!("{byte:02x}")).collect(),
            table: wanted.table.clone(),
            origin: wanted.origin.clone(),
            scheme: wanted.scheme.clone(),
            public_key: wanted.public_key.clone(),
            params: wanted.params,
            literal: wanted.literal.clone(),
            clients: 0,
            anchored: false,
            snapshot: None,
            home: location.disk.home(FILE).map_err(|error| location.at(error))?,
        };
        let marks = JournalMarks::default();
        let write = |about: &StateMetadata| {
            let change = StateTransaction { about: Some(about), marks, ..StateTransaction::default() };
            store.apply(&change).map_err(|error| location.broken(error))
        };
        write(&about)?;
        let anchor = RollbackCounter::make(location.anchors.as_ref(), &about.id)
            .map_err(|error| location.at_anchor(error))?;
        about.anchored = true;
        write(&about)?;
        let generation = location.sweep(None)?;
        location.sweep_pass(None)?;
        let (recorded, lent, broken) = (Vec::new(), None, false);
        Ok(DurableState { location, store, anchor, about, marks, recorded, generation, lent, broken })
    }

    /// The version of the rows that the client is made from; `None` before there is a client.
    pub(crate) fn at(&self) -> Option<RowsVersion> {
        self.about.snapshot.map(|Snapshot { epoch, rows, .. }| RowsVersion { epoch, rows })
    }

    /// The requests that were committed and are not settled, the oldest first.
    pub(crate) fn recorded(&self) -> &[CommittedRequest] {
        &self.recorded
    }

    /// Makes a request durable, so that it may be sent to servers of `epoch`.
    ///
    /// # Errors
    /// [`StateError`]. Then nothing may be sent, and no more queries may be made with this client.
    pub(crate) fn commit(&mut self, entry: &JournalEntry, epoch: Epoch) -> Result<CommittedRequest> {
        if self.at().is_none_or(|at| at.epoch != epoch) {
            return Err(Error::from(Misuse::Rule("a client asks servers of its own epoch")).into());
        }
        let id = self.marks.asks.0;
        let mut marks = self.appended(&entry.journal);
        marks.counter += 1;
        marks.asks = (id + 1, marks.asks.1 + 1);
        let record = entry.record.encode();
        let change = StateTransaction {
            marks,
            append: self.entry(&entry.journal),
            record: Some((id, &record)),
            ..StateTransaction::default()
        };
        self.apply(&change)?;
        self.anchored()?;
        let recorded = CommittedRequest { id, record: entry.record.clone() };
        self.recorded.push(recorded.clone());
        Ok(recorded)
    }

    /// Makes durable what the client learned from the answers to a request; with `whole`, the
    /// request is settled and forgotten.
    ///
    /// # Errors
    /// [`StateError`]. The rows may be returned to the caller only after a success.
    pub(crate) fn settle(&mut self, recorded: &CommittedRequest, journal: &[u8], whole: bool) -> Result<()> {
        let mut marks = self.appended(journal);
        if whole {
            marks.asks.1 = marks.asks.1.saturating_sub(1);
        }
        let settle = whole.then_some(recorded.id);
        self.apply(&StateTransaction {
            marks,
            append: self.entry(journal),
            settle,
            ..StateTransaction::default()
        })?;
        self.recorded.retain(|other| !whole || other.id != recorded.id);
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

    fn sound(&self) -> Result<(), StateError> {
        if self.broken { Err(StateError::Broken) } else { Ok(()) }
    }

    /// Applies one transaction. If it fails, it is unknown whether it is on disk.
    fn apply(&mut self, change: &StateTransaction<'_>) -> Result<(), StateError> {
        self.sound()?;
        self.broken = true;
        self.store.apply(change).map_err(|error| self.location.broken(error))?;
        self.marks = change.marks;
        self.broken = false;
        Ok(())
    }

    /// Advances the rollback counter to the state's counter.
    fn anchored(&mut self) -> Result<(), StateError> {
        self.broken = true;
        self.anchor.set(self.marks.counter).map_err(|error| self.location.at_anchor(error))?;
        self.broken = false;
        Ok(())
    }
}

//! Opening a state in a folder: whether it exists, belongs to what is required, and may be used.

use super::disk::Disk;
use super::metadata::{FILE, JournalMarks, StateFileError, StateMetadata, StateRequirement};
use super::preparation_file::{self, PreparationBinding};
use super::rollback_counter::RollbackCounter;
use super::snapshot::{self, ClientReader, HINTS, ReadError};
use super::state_file::StateFile;
use super::{StateError, StateLoss};
use crate::Result;
use crate::session::logged_request::LoggedRequest;
use sotto_core::AnyClient;
use std::io;
use std::sync::Arc;

/// The folders of a state and of its rollback counter.
pub(crate) struct StatePaths {
    /// Folder of the state, shared with the thread that prepares the next client.
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) counters: Box<dyn Disk>,
}

/// What was found in the folder of a state.
pub(crate) enum StateOnDisk {
    /// No state.
    Nothing,
    /// A state that may be used.
    State(Box<LoadedState>),
    /// A state that may not be used: its id, the reason to report, if any, and whether the rollback
    /// counter belongs to another copy.
    Unusable { id: String, why: Option<StateLoss>, keep_counter: bool },
}

/// The client, if there was one, and its requests that are not settled.
pub(crate) type ClientAndRequests = (Option<Box<dyn AnyClient>>, Vec<(u64, LoggedRequest)>);

/// A state that may be used.
pub(crate) struct LoadedState {
    pub(crate) metadata: StateMetadata,
    pub(crate) marks: JournalMarks,
    pub(crate) rollback_counter: RollbackCounter,
    /// The client, if there was one.
    pub(crate) client: Option<Box<dyn AnyClient>>,
    pub(crate) requests: Vec<(u64, LoggedRequest)>,
}

impl StatePaths {
    /// The error for a failure of the disk.
    pub(crate) fn at(&self, error: io::Error) -> StateError {
        StateError::at(&self.disk.path(), error)
    }

    /// The error for a failure of the state's file.
    pub(crate) fn broken(&self, error: StateFileError) -> StateError {
        match error {
            StateFileError::Disk(error) => self.at(error),
            StateFileError::Damaged(why) => StateError::Unusable { path: self.disk.path().join(FILE), why },
        }
    }

    /// Reads the state in the folder.
    ///
    /// # Errors
    /// [`StateError::WrongState`] for the state of something else, which is not changed; errors of
    /// the disk.
    pub(crate) fn load(
        &self,
        store: &StateFile,
        requirement: &StateRequirement,
        reader: ClientReader<'_>,
    ) -> Result<StateOnDisk> {
        let Some((json, marks)) = store.head() else { return Ok(StateOnDisk::Nothing) };
        let metadata = StateMetadata::parse(json, &self.disk.path())?;
        let useless =
            |why, keep_counter| Ok(StateOnDisk::Unusable { id: metadata.id.clone(), why, keep_counter });
        let other = metadata.check(requirement, &self.disk.path());
        if !metadata.has_counter || (metadata.clients == 0 && other.is_err()) {
            // The state was never used, so nothing is lost with it.
            return useless(None, false);
        }
        other?;
        let home = self.disk.home(FILE).map_err(|error| self.at(error))?;
        if let Some(what) = metadata.home.differs(&home) {
            // The rollback counter may belong to the original, which is still valid.
            return useless(Some(StateLoss::FilesMoved(what)), true);
        }
        let found = RollbackCounter::find(self.counters.as_ref(), &metadata.id)
            .map_err(|error| self.at_counter(error))?;
        let Some((rollback_counter, at)) = found else {
            return useless(Some(StateLoss::NoRollbackCounter), true);
        };
        if at > marks.counter || at.saturating_add(1) < marks.counter {
            let why = StateLoss::RolledBack { state: marks.counter, counter: at };
            return useless(Some(why), false);
        }
        match self.contents(store, &metadata, reader) {
            Ok((client, requests)) => {
                let loaded = LoadedState { metadata, marks, rollback_counter, client, requests };
                Ok(StateOnDisk::State(Box::new(loaded)))
            }
            Err(ReadError::Damaged(why)) => useless(Some(StateLoss::Damaged(why)), false),
            Err(ReadError::Failed(error)) => Err(error),
        }
    }

    /// Reads the client and its requests.
    pub(crate) fn contents(
        &self,
        store: &StateFile,
        metadata: &StateMetadata,
        reader: ClientReader<'_>,
    ) -> Result<ClientAndRequests, ReadError> {
        let Some(snapshot) = &metadata.snapshot else { return Ok((None, Vec::new())) };
        let mut client = snapshot::read(self.disk.as_ref(), snapshot, metadata.params, reader)?;
        let damage = store.journal(&mut |entry| {
            let state = client.state().ok_or("the client has no state")?;
            state.replay(entry).map_err(|error| error.to_string())
        });
        if let Some(why) = damage.map_err(|error| self.broken(error))? {
            return Err(ReadError::Damaged(why));
        }
        let requests = store.requests().map_err(|error| self.broken(error))?;
        let decode = |(id, bytes): (_, Vec<u8>)| Some((id, LoggedRequest::decode(&bytes)?));
        let decoded: Option<Vec<_>> =
            requests.and_then(|requests| requests.into_iter().map(decode).collect());
        let decoded = decoded.ok_or_else(|| ReadError::Damaged("a recorded request".to_owned()))?;
        Ok((Some(client), decoded))
    }

    pub(crate) fn at_counter(&self, error: io::Error) -> StateError {
        StateError::at(&self.counters.path(), error)
    }

    /// Removes a state. Its file is removed last: as long as it exists, the next opening
    /// notices that the rest is missing.
    pub(crate) fn clear(&self, id: &str, keep_counter: bool) -> Result<(), StateError> {
        self.sweep(None)?;
        self.sweep_pass(None)?;
        if !keep_counter {
            RollbackCounter::remove(self.counters.as_ref(), id).map_err(|error| self.at_counter(error))?;
        }
        self.remove_store()
    }

    /// Opens the state's file, and makes it if it does not exist.
    ///
    /// # Errors
    /// [`StateError::WrongState`] if the folder has a state of an earlier format, which is left as it
    /// is; errors of the disk.
    #[cfg(feature = "state")]
    pub(crate) fn store(&self) -> Result<StateFile, StateError> {
        use super::metadata::{EARLIER_FILE, FORMAT};
        if self.disk.names().map_err(|error| self.at(error))?.iter().any(|name| name == EARLIER_FILE) {
            let (found, expected) = ("sotto-state/2".to_owned(), FORMAT.to_owned());
            let path = self.disk.path().join(EARLIER_FILE);
            return Err(StateError::WrongState { path, what: "format", found, expected });
        }
        let file = self.disk.open(FILE).map_err(|error| self.at(error))?;
        StateFile::open(file).map_err(|error| self.broken(error))
    }

    /// The error of a build without states on disk.
    #[cfg(not(feature = "state"))]
    pub(crate) fn store(&self) -> Result<StateFile, StateError> {
        Err(StateError::NotBuilt)
    }

    /// Removes the state's file.
    pub(crate) fn remove_store(&self) -> Result<(), StateError> {
        self.disk.remove(FILE).map_err(|error| self.at(error))
    }

    /// Whether there ever was a client, as far as files show.
    pub(crate) fn has_snapshots(&self) -> Result<bool, StateError> {
        let names = self.disk.names().map_err(|error| self.at(error))?;
        Ok(names.iter().any(|name| name.starts_with(HINTS)))
    }

    /// Removes the half-done preparation, unless it is bound to this state. Returns the reason, if
    /// one was removed.
    pub(crate) fn sweep_pass(&self, metadata: Option<&StateMetadata>) -> Result<Option<String>, StateError> {
        let binding = metadata.map(PreparationBinding::of);
        preparation_file::sweep(self.disk.as_ref(), binding.as_ref()).map_err(|error| self.at(error))
    }

    /// Removes every snapshot but one. Returns the largest generation found.
    pub(crate) fn sweep(&self, keep: Option<u64>) -> Result<u64, StateError> {
        let mut largest = keep.unwrap_or_default();
        for file in self.disk.names().map_err(|error| self.at(error))? {
            let Some(number) = file.strip_prefix(HINTS) else { continue };
            // An incomplete file has a longer name, and is removed too.
            let number = number.parse().ok();
            if number.is_none() || number != keep {
                self.disk.remove(&file).map_err(|error| self.at(error))?;
            }
            largest = largest.max(number.unwrap_or_default());
        }
        Ok(largest)
    }
}

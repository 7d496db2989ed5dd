//! Opening what lies in a folder: whether there is a state, whether it is the right one, whether it may be used.

use super::database::StateDb;
use super::disk::Disk;
use super::metadata::{JournalMarks, Snapshot, StateMetadata, StateRequirement};
use super::preparation_file::{self, PreparationBinding};
use super::rollback_counter::RollbackCounter;
use super::snapshot::{self, HINTS};
use super::transaction::{FILE, StateDbError};
use super::{StateError, StateLoss};
use crate::Result;
use crate::session::logged_request::LoggedRequest;
use sotto_core::{AnyClient, StateEntry};
use std::io;
use std::sync::Arc;

/// Where a state and its anchor lie.
pub(crate) struct StatePaths {
    /// Shared with whoever prepares the next client.
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) anchors: Box<dyn Disk>,
}

/// How a scheme's clients are read: its part, and the literal it takes.
pub(crate) type ClientReader<'a> = (&'a StateEntry, &'a [u8]);

/// What lies there.
pub(crate) enum StateOnDisk {
    /// Nothing.
    Nothing,
    /// A state that may be used.
    State(Box<LoadedState>),
    /// One that may not. Whether anybody has to be told why, and whether its anchor is another copy's.
    Unusable { id: String, why: Option<StateLoss>, keep_anchor: bool },
}

/// A client, once there was one, and the requests it made that are not settled.
pub(crate) type ClientAndRequests = (Option<Box<dyn AnyClient>>, Vec<(u64, LoggedRequest)>);

/// A state that may be used.
pub(crate) struct LoadedState {
    pub(crate) about: StateMetadata,
    pub(crate) marks: JournalMarks,
    pub(crate) anchor: RollbackCounter,
    /// The client, once there was one.
    pub(crate) client: Option<Box<dyn AnyClient>>,
    pub(crate) asks: Vec<(u64, LoggedRequest)>,
}

impl StatePaths {
    /// What a failure of the disk is called.
    pub(crate) fn at(&self, error: io::Error) -> StateError {
        StateError::at(&self.disk.path(), error)
    }

    /// What a failure of the database is called.
    pub(crate) fn broken(&self, error: StateDbError) -> StateError {
        match error {
            StateDbError::Disk(error) => self.at(error),
            StateDbError::Damaged(why) => StateError::Unusable { path: self.disk.path().join(FILE), why },
        }
    }

    /// Looks at what is there.
    ///
    /// # Errors
    /// [`StateError::WrongState`] for the state of something else, which is left alone; the disk's.
    pub(crate) fn load(
        &self,
        store: &StateDb,
        wanted: &StateRequirement,
        how: ClientReader<'_>,
    ) -> Result<StateOnDisk> {
        let Some((json, marks)) = store.head().map_err(|error| self.broken(error))? else {
            return Ok(StateOnDisk::Nothing);
        };
        let about = StateMetadata::parse(&json, &self.disk.path())?;
        let useless = |why, keep_anchor| Ok(StateOnDisk::Unusable { id: about.id.clone(), why, keep_anchor });
        let other = about.check(wanted, &self.disk.path());
        if !about.anchored || (about.clients == 0 && other.is_err()) {
            // It was never used, so nothing is lost with it.
            return useless(None, false);
        }
        other?;
        let home = self.disk.home(FILE).map_err(|error| self.at(error))?;
        if let Some(what) = about.home.differs(&home) {
            // The anchor may be that of the original, which is as good as ever.
            return useless(Some(StateLoss::FilesMoved { what }), true);
        }
        let found =
            RollbackCounter::find(self.anchors.as_ref(), &about.id).map_err(|error| self.at_anchor(error))?;
        let Some((anchor, at)) = found else { return useless(Some(StateLoss::NoAnchor), true) };
        if at > marks.counter || at.saturating_add(1) < marks.counter {
            let why = StateLoss::RolledBack { state: marks.counter, anchor: at };
            return useless(Some(why), false);
        }
        match self.contents(store, &about, &marks, how)? {
            Ok((client, asks)) => {
                let loaded = LoadedState { about, marks, anchor, client, asks };
                Ok(StateOnDisk::State(Box::new(loaded)))
            }
            Err(why) => useless(Some(StateLoss::Damaged { why }), false),
        }
    }

    /// The client and its asks; or what is damaged.
    pub(crate) fn contents(
        &self,
        store: &StateDb,
        about: &StateMetadata,
        marks: &JournalMarks,
        how: ClientReader<'_>,
    ) -> Result<Result<ClientAndRequests, String>> {
        let broken = |error| self.broken(error);
        let Some(snapshot) = &about.snapshot else { return Ok(Ok((None, Vec::new()))) };
        let mut client = match self.client(snapshot, about, how)? {
            Ok(client) => client,
            Err(why) => return Ok(Err(why)),
        };
        let replayed = store.journal(marks, &mut |entry| {
            let state = client.state().ok_or("the client has no state")?;
            state.replay(entry).map_err(|error| error.to_string())
        });
        if let Err(why) = replayed.map_err(broken)? {
            return Ok(Err(why));
        }
        let asks = store.asks(marks).map_err(broken)?;
        let decode = |(id, bytes): (_, Vec<u8>)| Some((id, LoggedRequest::decode(&bytes)?));
        let decoded: Option<Vec<_>> = asks.and_then(|asks| asks.into_iter().map(decode).collect());
        Ok(match decoded {
            Some(asks) => Ok((Some(client), asks)),
            None => Err("a recorded request".to_owned()),
        })
    }

    fn client(
        &self,
        snapshot: &Snapshot,
        about: &StateMetadata,
        how: ClientReader<'_>,
    ) -> Result<Result<Box<dyn AnyClient>, String>> {
        snapshot::read(self.disk.as_ref(), snapshot, (how.0, how.1, about.params)).map_err(
            |error| match error {
                sotto_core::Error::Storage(error) => self.at(error).into(),
                error => error.into(),
            },
        )
    }

    pub(crate) fn at_anchor(&self, error: io::Error) -> StateError {
        StateError::at(&self.anchors.path(), error)
    }

    /// Removes a state. Its database goes last: as long as it is there, somebody will find the rest missing.
    pub(crate) fn clear(&self, id: &str, keep_anchor: bool) -> Result<(), StateError> {
        self.sweep(None)?;
        self.sweep_pass(None)?;
        if !keep_anchor {
            RollbackCounter::remove(self.anchors.as_ref(), id).map_err(|error| self.at_anchor(error))?;
        }
        self.remove_store()
    }

    /// Removes the database.
    pub(crate) fn remove_store(&self) -> Result<(), StateError> {
        self.disk.remove(FILE).map_err(|error| self.at(error))
    }

    /// Whether there ever was a client, as far as files tell.
    pub(crate) fn has_snapshots(&self) -> Result<bool, StateError> {
        let names = self.disk.names().map_err(|error| self.at(error))?;
        Ok(names.iter().any(|name| name.starts_with(HINTS)))
    }

    /// Removes the next client half prepared, unless it is bound to this state. Gives why, if there was one to remove.
    pub(crate) fn sweep_pass(&self, about: Option<&StateMetadata>) -> Result<Option<String>, StateError> {
        let binding = about.map(PreparationBinding::of);
        preparation_file::sweep(self.disk.as_ref(), binding.as_ref()).map_err(|error| self.at(error))
    }

    /// Removes every snapshot but one. Gives the largest generation there was.
    pub(crate) fn sweep(&self, keep: Option<u64>) -> Result<u64, StateError> {
        let mut largest = keep.unwrap_or_default();
        for file in self.disk.names().map_err(|error| self.at(error))? {
            let Some(number) = file.strip_prefix(HINTS) else { continue };
            // What a crash left half written has a longer name, and goes too.
            let number = number.parse().ok();
            if number.is_none() || number != keep {
                self.disk.remove(&file).map_err(|error| self.at(error))?;
            }
            largest = largest.max(number.unwrap_or_default());
        }
        Ok(largest)
    }
}

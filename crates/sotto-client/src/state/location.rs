//! Opening what lies in a folder: whether there is a state, whether it is the right one, whether it may be used.

use super::about::{About, Marks, Snapshot, Wanted};
use super::anchor::Anchor;
use super::change::{Broken, FILE};
use super::checkpoint::{self, Binding};
use super::disk::Disk;
use super::snapshot::{self, HINTS};
use super::store::Store;
use super::{Lost, StateError};
use crate::Result;
use crate::session::record::Record;
use sotto_core::{AnyClient, StateEntry};
use std::io;
use std::sync::Arc;

/// Where a state and its anchor lie.
pub(crate) struct Location {
    /// Shared with whoever prepares the next client.
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) anchors: Box<dyn Disk>,
}

/// How a scheme's clients are read: its part, and the literal it takes.
pub(crate) type How<'a> = (&'a StateEntry, &'a [u8]);

/// What lies there.
pub(crate) enum Found {
    /// Nothing.
    Nothing,
    /// A state that may be used.
    State(Box<Loaded>),
    /// One that may not. Whether anybody has to be told why, and whether its anchor is another copy's.
    Useless { id: String, why: Option<Lost>, keep_anchor: bool },
}

/// A client, once there was one, and the requests it made that are not settled.
pub(crate) type Contents = (Option<Box<dyn AnyClient>>, Vec<(u64, Record)>);

/// A state that may be used.
pub(crate) struct Loaded {
    pub(crate) about: About,
    pub(crate) marks: Marks,
    pub(crate) anchor: Anchor,
    /// The client, once there was one.
    pub(crate) client: Option<Box<dyn AnyClient>>,
    pub(crate) asks: Vec<(u64, Record)>,
}

impl Location {
    /// What a failure of the disk is called.
    pub(crate) fn at(&self, error: io::Error) -> StateError {
        StateError::at(&self.disk.path(), error)
    }

    /// What a failure of the database is called.
    pub(crate) fn broken(&self, error: Broken) -> StateError {
        match error {
            Broken::Disk(error) => self.at(error),
            Broken::Damaged(why) => StateError::Unusable { path: self.disk.path().join(FILE), why },
        }
    }

    /// Looks at what is there.
    ///
    /// # Errors
    /// [`StateError::Other`] for the state of something else, which is left alone; the disk's.
    pub(crate) fn load(&self, store: &Store, wanted: &Wanted, how: How<'_>) -> Result<Found> {
        let Some((json, marks)) = store.head().map_err(|error| self.broken(error))? else {
            return Ok(Found::Nothing);
        };
        let about = About::parse(&json, &self.disk.path())?;
        let useless = |why, keep_anchor| Ok(Found::Useless { id: about.id.clone(), why, keep_anchor });
        let other = about.check(wanted, &self.disk.path());
        if !about.anchored || (about.clients == 0 && other.is_err()) {
            // It was never used, so nothing is lost with it.
            return useless(None, false);
        }
        other?;
        let home = self.disk.home(FILE).map_err(|error| self.at(error))?;
        if let Some(what) = about.home.differs(&home) {
            // The anchor may be that of the original, which is as good as ever.
            return useless(Some(Lost::Moved { what }), true);
        }
        let found = Anchor::find(self.anchors.as_ref(), &about.id).map_err(|error| self.at_anchor(error))?;
        let Some((anchor, at)) = found else { return useless(Some(Lost::NoAnchor), true) };
        if at > marks.counter || at.saturating_add(1) < marks.counter {
            let why = Lost::RolledBack { state: marks.counter, anchor: at };
            return useless(Some(why), false);
        }
        match self.contents(store, &about, &marks, how)? {
            Ok((client, asks)) => {
                let loaded = Loaded { about, marks, anchor, client, asks };
                Ok(Found::State(Box::new(loaded)))
            }
            Err(why) => useless(Some(Lost::Damaged { why }), false),
        }
    }

    /// The client and its asks; or what is damaged.
    pub(crate) fn contents(
        &self,
        store: &Store,
        about: &About,
        marks: &Marks,
        how: How<'_>,
    ) -> Result<Result<Contents, String>> {
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
        let decode = |(id, bytes): (_, Vec<u8>)| Some((id, Record::decode(&bytes)?));
        let decoded: Option<Vec<_>> = asks.and_then(|asks| asks.into_iter().map(decode).collect());
        Ok(match decoded {
            Some(asks) => Ok((Some(client), asks)),
            None => Err("a recorded request".to_owned()),
        })
    }

    fn client(
        &self,
        snapshot: &Snapshot,
        about: &About,
        how: How<'_>,
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
            Anchor::remove(self.anchors.as_ref(), id).map_err(|error| self.at_anchor(error))?;
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
    pub(crate) fn sweep_pass(&self, about: Option<&About>) -> Result<Option<String>, StateError> {
        let binding = about.map(Binding::of);
        checkpoint::sweep(self.disk.as_ref(), binding.as_ref()).map_err(|error| self.at(error))
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

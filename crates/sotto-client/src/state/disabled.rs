//! A build without the database of states (feature `state`): no state can be opened.

use super::StateError;
use super::metadata::JournalMarks;
use super::open::StatePaths;
use super::transaction::{StateDbError, StateTransaction};

/// A database that cannot exist.
pub(crate) enum StateDb {}

/// Logged requests, as the database returns them.
type Asks = Vec<(u64, Vec<u8>)>;

impl StateDb {
    pub(crate) fn head(&self) -> Result<Option<(Vec<u8>, JournalMarks)>, StateDbError> {
        match *self {}
    }

    pub(crate) fn journal(
        &self,
        _: &JournalMarks,
        _: &mut dyn FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<Result<(), String>, StateDbError> {
        match *self {}
    }

    pub(crate) fn asks(&self, _: &JournalMarks) -> Result<Option<Asks>, StateDbError> {
        match *self {}
    }

    pub(crate) fn apply(&self, _: &StateTransaction<'_>) -> Result<(), StateDbError> {
        match *self {}
    }
}

/// Dropping the database, which callers do explicitly.
impl Drop for StateDb {
    fn drop(&mut self) {
        match *self {}
    }
}

impl StatePaths {
    /// The error of a build without the database.
    pub(crate) fn store(&self) -> Result<StateDb, StateError> {
        Err(StateError::NotBuilt)
    }
}

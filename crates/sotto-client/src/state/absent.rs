//! A build without the database of states (feature `state`): none can be opened, so that none is there to be asked.

use super::StateError;
use super::about::Marks;
use super::change::{Broken, Change};
use super::location::Location;

/// A database that nobody can have opened.
pub(crate) enum Store {}

/// Recorded asks, as the database gives them.
type Asks = Vec<(u64, Vec<u8>)>;

impl Store {
    pub(crate) fn head(&self) -> Result<Option<(Vec<u8>, Marks)>, Broken> {
        match *self {}
    }

    pub(crate) fn journal(
        &self,
        _: &Marks,
        _: &mut dyn FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<Result<(), String>, Broken> {
        match *self {}
    }

    pub(crate) fn asks(&self, _: &Marks) -> Result<Option<Asks>, Broken> {
        match *self {}
    }

    pub(crate) fn apply(&self, _: &Change<'_>) -> Result<(), Broken> {
        match *self {}
    }
}

/// Closing it, which the callers write out.
impl Drop for Store {
    fn drop(&mut self) {
        match *self {}
    }
}

impl Location {
    /// There is none.
    pub(crate) fn store(&self) -> Result<Store, StateError> {
        Err(StateError::NotBuilt)
    }
}

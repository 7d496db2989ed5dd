//! State that a client must neither lose nor use twice.
//!
//! Some schemes give a client hints, and every request uses one up. Two requests with one hint
//! would reveal which rows were requested, so every use is on disk before a request is sent, and a
//! state that went back in time is discarded.
//!
//! | module | contents |
//! |---|---|
//! | `durable_state` | what is durable at which moment: commit, settle, adopt |
//! | `open` | opening a state: whether it exists, belongs here, and may be used |
//! | [`metadata`] | what a state belongs to, its counters, and what a transaction changes |
//! | [`state_file`] | the file of a state: the journal since the snapshot, logged requests |
//! | [`snapshot`] | whole clients, in files of their own |
//! | [`preparation_file`] | the half-done preparation of the next client |
//! | `rollback_counter` | a counter in a second place |
//! | `checksum` | files and values with a checksum |
//! | `disk` | a folder, behind a trait, so that tests can simulate power loss |
//! | [`inspect`] | the states in a folder, for display |
//! | [`error`] | errors, and reasons why a state was discarded |
//!
//! ```text
//! DIR/<hash of servers and table>/lock          held as long as the table is open
//! DIR/<hash of servers and table>/state         its metadata, the journal, logged requests
//! DIR/<hash of servers and table>/hints-<n>     the client as it was when the journal began
//! DIR/<hash of servers and table>/pass          the half-done preparation of the next client
//! COUNTERS/<id>.counter                          the rollback counter
//! ```
//!
//! A machine that is restored as a whole, rollback counters included, as with a snapshot of a
//! virtual machine, cannot be detected. Then hints are used a second time. Keep the counters on
//! another disk than the one that is restored, or delete the state after restoring. A table at
//! other servers, or at the same servers in another order, has another state and shares nothing:
//! one server under two names has two.
//!
//! `spec/state.md` describes every file.

mod checksum;
pub(crate) mod disk;
pub(crate) mod durable_state;
pub mod inspect;
pub mod metadata;
pub(crate) mod open;
pub mod preparation_file;
pub(crate) mod rollback_counter;
pub mod snapshot;
#[cfg(feature = "state")]
pub mod state_file;

pub use crate::error::state::{self as error, StateError, StateLoss};

/// A build without states on disk (feature `state`): none can be opened.
#[cfg(not(feature = "state"))]
pub(crate) mod state_file {
    use super::metadata::{JournalMarks, StateFileError, StateTransaction};

    /// A file that cannot exist.
    pub(crate) enum StateFile {}

    /// Logged requests, as the file returns them.
    type LoggedBytes = Vec<(u64, Vec<u8>)>;

    impl StateFile {
        pub(crate) fn head(&self) -> Option<(&[u8], JournalMarks)> {
            match *self {}
        }

        pub(crate) fn journal(
            &self,
            _: &mut dyn FnMut(&[u8]) -> Result<(), String>,
        ) -> Result<Option<String>, StateFileError> {
            match *self {}
        }

        pub(crate) fn requests(&self) -> Result<Option<LoggedBytes>, StateFileError> {
            match *self {}
        }

        pub(crate) fn apply(&mut self, _: &StateTransaction<'_>) -> Result<(), StateFileError> {
            match *self {}
        }
    }

    /// Dropping the file, which callers do explicitly.
    impl Drop for StateFile {
        fn drop(&mut self) {
            match *self {}
        }
    }
}

#[cfg(test)]
mod tests;

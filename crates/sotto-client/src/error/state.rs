//! Errors of a durable state, and what to do. A fault that starting over repairs is no error but a
//! [`StateLoss`].

use super::cache::{FIX_NOT_PRIVATE, NOT_PRIVATE, is_full};
use sotto_core::{Diagnose, Diagnosis, ErrorKind, Exit};
use sotto_private_folder::NotPrivate;
use std::io;
use std::path::{Path, PathBuf};

/// A failure of a durable state, which is never a peer's fault.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// Another process has the state in this folder open.
    #[error("the state in {} is in use by another process", .0.display())]
    Busy(PathBuf),
    /// The disk has no space left.
    #[error("no disk space for the state in {}: {source}", path.display())]
    Full {
        /// File that could not grow.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The folder is writable for others, who could choose which hints are used.
    #[error("the folder {} is not private: {why}", path.display())]
    NotPrivate {
        /// Folder that is writable for others.
        path: PathBuf,
        /// Description of who can write in the folder.
        why: String,
    },
    /// A file or folder could not be read or written.
    #[error("the state in {}: {source}", path.display())]
    Io {
        /// Path of the file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The state belongs to something else.
    #[error("the state in {} has {what} {found}, expected {expected}", path.display())]
    WrongState {
        /// Folder of the state.
        path: PathBuf,
        /// Property in which it differs.
        what: &'static str,
        /// Value in the state.
        found: String,
        /// Required value.
        expected: String,
    },
    /// The state's file is damaged, or one of another program.
    #[error("the state in {} cannot be read: {why}", path.display())]
    Unusable {
        /// Path of the file.
        path: PathBuf,
        /// Description of the fault.
        why: String,
    },
    /// An earlier write failed, so memory and disk may differ.
    #[error("the state could not be written, so no more queries are made with it")]
    Broken,
    /// The build does not include states on disk (feature `state`).
    #[error("this build cannot keep a state on disk")]
    NotBuilt,
    /// No folder is known for the rollback counter, which exposes an old copy of the state.
    #[error("no folder for the rollback counter: neither XDG_STATE_HOME nor HOME is set")]
    NoRollbackCounter,
}

impl StateError {
    /// Wraps an error of the operating system about a file.
    pub(crate) fn at(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match () {
            () if is_full(&source) => StateError::Full { path, source },
            () if NotPrivate::is(&source) => StateError::NotPrivate { path, why: source.to_string() },
            () => StateError::Io { path, source },
        }
    }
}

impl Diagnose for StateError {
    fn diagnosis(&self) -> Diagnosis<'_> {
        let (code, fix) = match self {
            StateError::Busy { .. } => (
                "state-busy",
                "wait for the other process or end it; a second client needs its own folder and its own preparation",
            ),
            StateError::Full { .. } => {
                ("state-full", "free some space and try again; no query was sent, and nothing is lost")
            }
            StateError::NotPrivate { .. } => (NOT_PRIVATE, FIX_NOT_PRIVATE),
            StateError::Io { .. } => ("state-io", "check that the folder can be read and written"),
            StateError::WrongState { .. } => {
                ("wrong-state", "give another folder, or delete this one: its hints fit no other table")
            }
            StateError::Unusable { .. } => (
                "state-unusable",
                "delete the folder; the client then streams the rows again, and has a new budget",
            ),
            StateError::Broken => ("state-broken", "repair the disk and open the table again"),
            StateError::NotBuilt => {
                ("state-not-built", "build sotto-client with feature `state`, or keep the state in memory")
            }
            StateError::NoRollbackCounter => {
                ("no-rollback-counter", "name a folder for the rollback counter (--rollback-dir)")
            }
        };
        ErrorKind::Storage.diagnosis(code, fix).with_exit(match self {
            StateError::Busy(_) => Exit::Refused,
            StateError::WrongState { .. } => Exit::Input,
            StateError::NoRollbackCounter => Exit::Usage,
            _ => Exit::Storage,
        })
    }
}

/// The reason why a state was discarded. Its key is discarded too, so what was queried with it
/// stays hidden.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateLoss {
    /// The files are not where they were written: they were moved, cloned or restored, and
    /// differ in this property.
    #[error(
        "the files were moved, cloned or restored ({0} differs), so another copy may have used the same hints"
    )]
    FilesMoved(&'static str),
    /// The rollback counter is missing.
    #[error("the rollback counter is missing, so an old copy cannot be told from the newest")]
    NoRollbackCounter,
    /// The rollback counter and the state's counter differ by more than a crash explains: one of
    /// them is an old copy.
    #[error("an old copy was restored: it counts {state} requests, the rollback counter {counter}")]
    RolledBack {
        /// Requests that the state counts.
        state: u64,
        /// Requests that the rollback counter counts.
        counter: u64,
    },
    /// The files are damaged, in this way.
    #[error("damaged: {0}")]
    Damaged(String),
    /// The table has moved on, and the deltas to its newest epoch are not available.
    #[error("the table moved from epoch {from} to {to}: {why}")]
    TooOld {
        /// Epoch of the state.
        from: u64,
        /// Epoch of the table.
        to: u64,
        /// What is missing.
        why: String,
    },
}

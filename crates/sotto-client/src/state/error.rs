//! What goes wrong with a state, and what to do. What can be mended by starting over is no error but a [`StateLoss`].

use crate::cache::error::{FIX_NOT_PRIVATE, NOT_PRIVATE, is_full};
use sotto_private_folder::NotPrivate;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The state failed, or is not the one that is needed. Never a peer's fault.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// Another process has it open.
    #[error("the state in {} is in use by another process", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// No room.
    #[error("no room for the state in {}: {source}", path.display())]
    Full {
        /// What could not grow.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A folder that others can write in: they would choose which hints are used.
    #[error("the folder {} is not private: {why}", path.display())]
    NotPrivate {
        /// The folder.
        path: PathBuf,
        /// Who can.
        why: String,
    },
    /// It could not be read or written.
    #[error("the state in {}: {source}", path.display())]
    Io {
        /// What could not.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is the state of something else.
    #[error("the state in {} is of another {what}: {found}, and {wanted} is wanted", path.display())]
    WrongState {
        /// The folder.
        path: PathBuf,
        /// In what it differs.
        what: &'static str,
        /// What it says.
        found: String,
        /// What it would have to say.
        wanted: String,
    },
    /// The database is no database, or not one of ours.
    #[error("the state in {} cannot be read: {why}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A write failed before, so what is in memory and what is on disk may differ.
    #[error("the state could not be written, and nothing more is asked with it")]
    Broken,
    /// The database of states was left out of this build (feature `state`).
    #[error("this build keeps no state on disk")]
    NotBuilt,
    /// There is nowhere to put what tells an old copy from the newest.
    #[error("no folder for the anchor: neither XDG_STATE_HOME nor HOME is set")]
    NoAnchor,
}

impl StateError {
    /// Wraps what the system said of a file.
    pub(crate) fn at(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match () {
            () if is_full(&source) => StateError::Full { path, source },
            () if NotPrivate::is(&source) => StateError::NotPrivate { path, why: source.to_string() },
            () => StateError::Io { path, source },
        }
    }

    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            StateError::Busy { .. } => "state-busy",
            StateError::Full { .. } => "state-full",
            StateError::NotPrivate { .. } => NOT_PRIVATE,
            StateError::Io { .. } => "state-io",
            StateError::WrongState { .. } => "state-of-another",
            StateError::Unusable { .. } => "state-unusable",
            StateError::Broken => "state-broken",
            StateError::NotBuilt => "state-not-built",
            StateError::NoAnchor => "no-anchor",
        }
    }

    /// What to do.
    pub fn fix(&self) -> &'static str {
        match self {
            StateError::Busy { .. } => {
                "wait for the other process or end it; a second client needs a folder of its own, and prepares by itself"
            }
            StateError::Full { .. } => "free some space; nothing was asked, and nothing is lost",
            StateError::NotPrivate { .. } => FIX_NOT_PRIVATE,
            StateError::Io { .. } => "check that the folder can be read and written",
            StateError::WrongState { .. } => {
                "give another folder, or delete this one: its hints are of no use for anything else"
            }
            StateError::Unusable { .. } => {
                "delete the folder; the rows are then streamed once more, and the budget is new"
            }
            StateError::Broken => "mend the disk and open the table again",
            StateError::NotBuilt => {
                "build sotto-client with its feature `state`, or let the state be in memory alone"
            }
            StateError::NoAnchor => "say where to keep the anchor",
        }
    }
}

/// Why a state was thrown away. Its key goes with it, so whatever it asked stays hidden.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StateLoss {
    /// The files are not where they were written: moved, cloned or restored.
    FilesMoved {
        /// What differs.
        what: &'static str,
    },
    /// The anchor is not there.
    NoAnchor,
    /// The anchor knows of later requests than the state does, or of earlier ones than it can: one of them is an old copy.
    RolledBack {
        /// Requests the state knows of.
        state: u64,
        /// Requests the anchor knows of.
        anchor: u64,
    },
    /// The files are damaged.
    Damaged {
        /// Which, and how.
        why: String,
    },
    /// The table has moved on, and what leads to its newest epoch is not to be had.
    TooOld {
        /// The state's epoch.
        from: u64,
        /// The table's.
        to: u64,
        /// What is missing.
        why: String,
    },
}

impl fmt::Display for StateLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StateLoss::FilesMoved { what } => write!(
                f,
                "the files were moved, cloned or restored ({what} differs), and another copy may have asked with the same hints"
            ),
            StateLoss::NoAnchor => {
                f.write_str("its anchor is gone, so nothing tells whether this is an old copy")
            }
            StateLoss::RolledBack { state, anchor } => write!(
                f,
                "an old copy was restored: it knows of {state} requests, and {anchor} were anchored"
            ),
            StateLoss::Damaged { why } => write!(f, "it is damaged: {why}"),
            StateLoss::TooOld { from, to, why } => {
                write!(f, "the table moved from epoch {from} to {to}, and {why}")
            }
        }
    }
}

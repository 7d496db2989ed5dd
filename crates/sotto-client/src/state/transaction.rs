//! One transaction of a state's database, defined also for builds without the database.

use super::metadata::{JournalMarks, StateMetadata};
use std::io;

/// Name of the database in the state's folder.
pub(crate) const FILE: &str = "state.redb";

/// An operation on the database failed.
#[derive(Debug)]
#[cfg_attr(not(feature = "state"), expect(dead_code, reason = "nothing breaks that is not there"))]
pub(crate) enum StateDbError {
    /// The disk failed.
    Disk(io::Error),
    /// The file is no database, a damaged one, or one of another program.
    Damaged(String),
}

/// Changes of one transaction.
#[derive(Default)]
#[cfg_attr(not(feature = "state"), expect(dead_code, reason = "nobody reads it where there is no database"))]
pub(crate) struct StateTransaction<'a> {
    pub(crate) metadata: Option<&'a StateMetadata>,
    pub(crate) marks: JournalMarks,
    /// Whether to drop the journal, which a snapshot contains.
    pub(crate) forget_journal: bool,
    /// Whether to drop all logged requests, whose client was replaced.
    pub(crate) forget_requests: bool,
    pub(crate) append: Option<(u64, &'a [u8])>,
    pub(crate) logged: Option<(u64, &'a [u8])>,
    pub(crate) settle: Option<u64>,
}

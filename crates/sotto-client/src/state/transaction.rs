//! What a state's database is asked for, whether a build has one or not.

use super::metadata::{JournalMarks, StateMetadata};
use std::io;

/// Its name in the state's folder.
pub(crate) const FILE: &str = "state.redb";

/// An operation on the database failed.
#[derive(Debug)]
#[cfg_attr(not(feature = "state"), expect(dead_code, reason = "nothing breaks that is not there"))]
pub(crate) enum StateDbError {
    /// The disk did.
    Disk(io::Error),
    /// It is no database, or a damaged one, or not one of ours.
    Damaged(String),
}

/// What one transaction changes.
#[derive(Default)]
#[cfg_attr(not(feature = "state"), expect(dead_code, reason = "nobody reads it where there is no database"))]
pub(crate) struct StateTransaction<'a> {
    pub(crate) about: Option<&'a StateMetadata>,
    pub(crate) marks: JournalMarks,
    /// Drops the journal: a snapshot has it all.
    pub(crate) forget_journal: bool,
    /// Drops all asks: their client is no more.
    pub(crate) forget_asks: bool,
    pub(crate) append: Option<(u64, &'a [u8])>,
    pub(crate) record: Option<(u64, &'a [u8])>,
    pub(crate) settle: Option<u64>,
}

//! The journal: records of what a client did, one for each query, answer, rejection and hint
//! response.
//!
//! A record has a byte for its kind, a number, and what the step got from outside: the choice of a
//! search, an answer, a response. Replaying a record takes the same step again. `spec/` draws the
//! bytes in the page of each scheme.

use crate::codec::{StateReader, put};
use borsh::BorshSerialize;
use sotto_core::Result;
use std::hint::black_box;
use zeroize::Zeroizing;

/// A query was made.
pub(crate) const QUERY: u8 = 1;
/// The answer to a query came.
pub(crate) const ANSWER: u8 = 2;
/// The row of a query was not the publisher's.
pub(crate) const REJECTION: u8 = 3;
/// A block of hints came.
pub(crate) const HINT_RESPONSE: u8 = 4;

/// Upper bound for the bytes of a record's fields.
const MAX_FIELDS: usize = 64;

/// The records since the last call of [`Journal::take`].
#[derive(Default)]
pub(crate) struct Journal(Vec<Zeroizing<Vec<u8>>>);

impl Journal {
    /// Adds a record of some fields and the bytes after them.
    pub(crate) fn add(&mut self, fields: &impl BorshSerialize, bytes: &[u8]) {
        // Space for the whole record, so that a growing list leaves no copy of a secret behind.
        let mut record = Zeroizing::new(Vec::with_capacity(MAX_FIELDS + bytes.len()));
        // Writing to a list does not fail.
        let _ = put(fields, &mut *record);
        record.extend_from_slice(bytes);
        self.0.push(record);
    }

    /// Adds the record of an answer: its number and its row, or as many zeros if the row is not known.
    pub(crate) fn add_answer(&mut self, number: u64, known: bool, row: &[u8]) {
        // The black box keeps the mask from becoming a branch.
        let keep = black_box(u8::from(known).wrapping_neg());
        let row: Zeroizing<Vec<u8>> = Zeroizing::new(row.iter().map(|byte| byte & keep).collect());
        self.add(&(ANSWER, number, known), &row);
    }

    /// Takes all records.
    pub(crate) fn take(&mut self) -> Zeroizing<Vec<u8>> {
        let records = std::mem::take(&mut self.0);
        let mut out = Zeroizing::new(Vec::with_capacity(records.iter().map(|record| record.len()).sum()));
        records.iter().for_each(|record| out.extend_from_slice(record));
        out
    }
}

/// Gives the kind and the number of each record of an entry to `step`, which reads the rest.
///
/// # Errors
/// The errors of `step`; [`sotto_core::Error::Peer`] for a record that is cut short.
pub(crate) fn replay(
    mut entry: &[u8],
    mut step: impl FnMut(u8, u64, &mut StateReader<'_>) -> Result<()>,
) -> Result<()> {
    while let [kind, rest @ ..] = entry {
        let mut rest = rest;
        let from = &mut StateReader::journal(&mut rest);
        let number = from.get()?;
        step(*kind, number, from)?;
        entry = rest;
    }
    Ok(())
}

/// Reads what the answer of a record told, if anything.
///
/// # Errors
/// The errors of [`StateReader::get`].
pub(crate) fn read_answer(
    from: &mut StateReader<'_>,
    row_bytes: usize,
) -> Result<Option<Zeroizing<Vec<u8>>>> {
    let known: bool = from.get()?;
    let mut row = Zeroizing::new(vec![0; row_bytes]);
    from.exact(&mut row)?;
    Ok(known.then_some(row))
}

/// The error for a record of no kind.
pub(crate) fn unknown(from: &StateReader<'_>) -> sotto_core::Error {
    from.malformed("unknown kind of record")
}

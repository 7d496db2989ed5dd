//! The delta file that moves a hint from one epoch to the next: `H_r += sum of change * (row of A)` over
//! the changed bytes of row r.
//!
//! A changed table byte changes one hint row, by (new - old) times a row of A, and everyone knows
//! A. So the delta has either the whole row, 4,100 bytes for n = 1024, or the change itself, 10
//! bytes; the encoder takes whichever is shorter, row by row (the threshold rule of iSimplePIR,
//! eprint 2026/030).
//!
//! ```text
//! 0    magic "sphd"
//! 4    version, u32 = 1                      all integers little-endian
//! 8    E, number of entries, u32
//! 12   W, number of whole rows, u32
//! 16   E times: row u32 | column u32 | new - old i16          ascending by (row, column)
//!      W times: row u32 | n words u32, each a residue         ascending by row
//! ```
//!
//! No row is in both lists; no entry is zero. Every byte string of another form is refused.

use crate::SimplePir;
use crate::literal::ParamsLiteral;
use sotto_core::{PeerMisbehaved, Result, wire};
use sotto_silent::lwe::ring::Q;
use sotto_silent::lwe::update::PublicRows;
use sotto_silent::matrix::ByteChange;
use sotto_silent::{Params, PatchMethod};

const MAGIC: [u8; 4] = *b"sphd";
const VERSION: u32 = 1;
const HEADER: usize = 16;
/// Bytes of an entry for a changed byte.
pub(crate) const ENTRY: usize = 10;

/// Bytes of a whole row: its number, and its words.
pub(crate) fn row_bytes(params: &ParamsLiteral) -> usize {
    4 + 4 * params.n()
}

/// Maximum number of entries for which a row's change is shorter than the row.
pub fn most_entries(params: &ParamsLiteral) -> usize {
    row_bytes(params) / ENTRY
}

/// Appends a changed byte.
#[cfg(feature = "server")]
pub(crate) fn put_entry(entry: &ByteChange, out: &mut Vec<u8>) {
    out.extend_from_slice(&entry.row.to_le_bytes());
    out.extend_from_slice(&entry.column.to_le_bytes());
    out.extend_from_slice(&entry.change.to_le_bytes());
}

fn entry([r0, r1, r2, r3, c0, c1, c2, c3, d0, d1]: [u8; ENTRY]) -> ByteChange {
    ByteChange {
        row: u32::from_le_bytes([r0, r1, r2, r3]),
        column: u32::from_le_bytes([c0, c1, c2, c3]),
        change: i16::from_le_bytes([d0, d1]),
    }
}

/// The header.
#[cfg(feature = "server")]
pub(crate) fn header(entries: u32, rows: u32) -> Vec<u8> {
    [MAGIC, VERSION.to_le_bytes(), entries.to_le_bytes(), rows.to_le_bytes()].concat()
}

/// The offset of whole row number `i` in a delta; for `i` the number of rows, the delta's size.
#[cfg(feature = "server")]
pub(crate) fn row_offset(params: &ParamsLiteral, entries: usize, i: usize) -> u64 {
    HEADER as u64 + entries as u64 * ENTRY as u64 + i as u64 * row_bytes(params) as u64
}

/// A delta whose every field was checked.
#[derive(Debug, Clone)]
pub struct Delta<'a> {
    entries: &'a [[u8; ENTRY]],
    /// Whole rows, each of [`row_bytes`] bytes.
    rows: &'a [u8],
    row: usize,
}

impl<'a> Delta<'a> {
    /// Reads and checks a delta; allocates nothing.
    ///
    /// # Errors
    /// [`PeerMisbehaved`] for bytes that no encoder with these parameters writes.
    pub fn take(params: &ParamsLiteral, bytes: &'a [u8]) -> Result<Self> {
        let (head, body) = bytes.split_first_chunk::<HEADER>().ok_or(PeerMisbehaved::Length {
            what: "header of a hint delta",
            got: bytes.len() as u64,
            want: HEADER as u64,
        })?;
        let (words, _) = head.as_chunks::<4>();
        let &[magic, version, entries, rows] = words else {
            return Err(malformed("the header is incomplete"));
        };
        if magic != MAGIC || u32::from_le_bytes(version) != VERSION {
            return Err(malformed("not a hint delta of version 1"));
        }
        let (e, w) = (u64::from(u32::from_le_bytes(entries)), u64::from(u32::from_le_bytes(rows)));
        let entry_bytes = e * ENTRY as u64;
        // Both counts are below 2^32, so this does not overflow.
        let row = row_bytes(params);
        let want = entry_bytes + w * row as u64;
        let split = usize::try_from(entry_bytes).ok().and_then(|at| body.split_at_checked(at));
        let Some((entries, rows)) = split.filter(|_| want == body.len() as u64) else {
            return wire::exact("hint delta", body, usize::try_from(want).unwrap_or(usize::MAX))
                .and(Err(malformed("the counts disagree with the length")));
        };
        let delta = Delta { entries: entries.as_chunks().0, rows, row };
        delta.check(params)?;
        Ok(delta)
    }

    /// The changed bytes, ascending by (row, column).
    pub fn entries(&self) -> impl Iterator<Item = ByteChange> + '_ {
        self.entries.iter().map(|bytes| entry(*bytes))
    }

    /// The rows that the delta has as a whole, ascending, with their words as bytes.
    pub fn rows(&self) -> impl Iterator<Item = (u32, &'a [u8])> + '_ {
        self.rows.chunks_exact(self.row).filter_map(|bytes| {
            let (row, words) = bytes.split_first_chunk()?;
            Some((u32::from_le_bytes(*row), words))
        })
    }

    fn check(&self, params: &ParamsLiteral) -> Result<()> {
        let in_matrix = |row: u32| u64::from(row) < params.record_bytes;
        for entry in self.entries() {
            if !in_matrix(entry.row) || u64::from(entry.column) >= params.records {
                return Err(malformed("an entry lies outside the table"));
            }
            if entry.change == 0 || entry.change.unsigned_abs() > 255 {
                return Err(malformed("a byte changes by 0 or by more than 255"));
            }
        }
        if !self.entries().is_sorted_by(|a, b| (a.row, a.column) < (b.row, b.column)) {
            return Err(malformed("entries are not in ascending order"));
        }
        if !self.rows().is_sorted_by(|a, b| a.0 < b.0) {
            return Err(malformed("rows are not in ascending order"));
        }
        for (row, words) in self.rows() {
            if !in_matrix(row) {
                return Err(malformed("a row lies outside the table"));
            }
            let mut words = words.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word));
            if params.dense().is_none() && words.any(|word| word >= Q) {
                return Err(PeerMisbehaved::NotCanonical("hint delta").into());
            }
            let same = |bytes: &[u8; ENTRY]| entry(*bytes).row.cmp(&row);
            if self.entries.binary_search_by(same).is_ok() {
                return Err(malformed("a row is replaced and has entries too"));
            }
        }
        Ok(())
    }
}

fn malformed(why: &str) -> sotto_core::Error {
    PeerMisbehaved::Malformed { what: "hint delta", why: why.into() }.into()
}

impl PatchMethod for SimplePir {
    fn hint_bytes(literal: &ParamsLiteral) -> u64 {
        literal.hint_bytes()
    }

    fn patch(params: &Params<Self>, held: &mut [u8], delta: &[u8]) -> Result<()> {
        let delta = Delta::take(params, delta)?;
        let row = |row: u32| row as usize * 4 * params.n()..(row as usize + 1) * 4 * params.n();
        for (number, words) in delta.rows() {
            if let Some(held) = held.get_mut(row(number)) {
                held.copy_from_slice(words);
            }
        }
        let entries: Vec<ByteChange> = delta.entries().collect();
        PublicRows::each(params.dense().map(|dense| (dense, &params.seed)), &entries, |rows, entries| {
            for changes in entries.chunk_by(|a, b| a.row == b.row) {
                if let Some(held) = changes.first().and_then(|entry| held.get_mut(row(entry.row))) {
                    rows.add(changes, held)?;
                }
            }
            Ok(())
        })
    }
}

//! Updating rows of a hint for changed bytes of a matrix: `H_r += sum of change * (row of A)` over
//! the changes of row r.

use super::dense::{BLOCK, DenseLwe};
use super::ring::{self, N, Q, ROW_BYTES, Ring};
use crate::matrix::ByteChange;
#[cfg(feature = "server")]
use rayon::prelude::*;
use sotto_core::{Misuse, PeerMisbehaved, Result};
#[cfg(feature = "server")]
use sotto_core::{Section, Sink};
use sotto_prg::PublicSeed;
use std::collections::BTreeMap;

/// A dense matrix A, by its set and its seed; none for the one that is made of ring blocks.
pub type DenseMatrix<'a> = Option<(DenseLwe, &'a PublicSeed)>;

/// The rows of A that changes need.
pub enum PublicRows {
    /// Rows of ring blocks: the values of a_k(1/X) for those that have changes.
    Ring(Box<Ring>, BTreeMap<usize, Vec<u64>>),
    /// Rows of one block of a dense matrix, n words each.
    Dense(DenseLwe, Vec<u32>),
}

impl PublicRows {
    /// Passes the changes with the rows of A that they need: all at once, or one block of a dense
    /// matrix at a time, so that their memory is some megabytes however many are touched. Changes are
    /// ascending by (row, column), and stay so in each pass.
    ///
    /// # Errors
    /// The errors of `pass`.
    pub fn each(
        dense: DenseMatrix<'_>,
        entries: &[ByteChange],
        mut pass: impl FnMut(&PublicRows, &[ByteChange]) -> Result<()>,
    ) -> Result<()> {
        let Some((dense, seed)) = dense else {
            let (ring, mut blocks) = (Box::new(Ring::new()?), BTreeMap::new());
            for k in entries.iter().map(|entry| entry.column as usize / N) {
                blocks.entry(k).or_insert_with(|| ring.reversed_block(k));
            }
            return pass(&PublicRows::Ring(ring, blocks), entries);
        };
        let block = |entry: &ByteChange| entry.column as usize / BLOCK;
        let mut entries = entries.to_vec();
        entries.sort_by_key(block);
        for entries in entries.chunk_by(|a, b| block(a) == block(b)) {
            let (Some(k), Some(last)) =
                (entries.first().map(block), entries.iter().map(|entry| entry.column).max())
            else {
                continue;
            };
            let mut words = vec![0; (last as usize % BLOCK + 1) * dense.n];
            dense.rows(seed, k, &mut words);
            pass(&PublicRows::Dense(dense, words), entries)?;
        }
        Ok(())
    }

    /// Adds the changes of one row, ascending by column, to that row of the hint in memory.
    ///
    /// # Errors
    /// The errors of [`add_to_row`].
    pub fn add(&self, changes: &[ByteChange], held: &mut [u8]) -> Result<()> {
        match self {
            PublicRows::Ring(ring, blocks) => {
                let held = held.try_into().map_err(|_| Misuse::Rule("a row of a hint must have n words"))?;
                add_to_row(ring, |k| blocks.get(&k), changes, held)
            }
            PublicRows::Dense(dense, words) => {
                let rows = changes.iter().filter_map(|entry| {
                    let row = entry.column as usize % BLOCK * dense.n;
                    Some((entry.change as u32, words.get(row..row + dense.n)?))
                });
                for (change, row) in rows {
                    for (word, a) in held.as_chunks_mut::<4>().0.iter_mut().zip(row) {
                        let new = u32::from_le_bytes(*word).wrapping_add(change.wrapping_mul(*a));
                        *word = new.to_le_bytes();
                    }
                }
                Ok(())
            }
        }
    }
}

/// Adds changes, ascending by (row, column), to the rows of a hint in an image.
///
/// # Errors
/// The errors of [`PublicRows::add`]; storage errors.
#[cfg(feature = "server")]
pub fn update_rows(
    dense: DenseMatrix<'_>,
    entries: &[ByteChange],
    hint: Section,
    out: &dyn Sink,
) -> Result<()> {
    let row_bytes = dense.map_or(ROW_BYTES, |(dense, _)| 4 * dense.n);
    PublicRows::each(dense, entries, |rows, entries| {
        let touched: Vec<&[ByteChange]> = entries.chunk_by(|a, b| a.row == b.row).collect();
        touched.par_iter().try_for_each(|changes| {
            let Some(first) = changes.first() else { return Ok(()) };
            let (mut words, offset) = (vec![0; row_bytes], u64::from(first.row) * row_bytes as u64);
            out.read_at(hint, offset, &mut words)?;
            rows.add(changes, &mut words)?;
            out.write_at(hint, offset, &words)
        })
    })
}

/// Adds the changes of one row, ascending by column, to that row of the hint. `block` has the
/// values of a_k(1/X).
///
/// There is one transform for each changed block, whether one byte of it changed or all.
///
/// # Errors
/// [`PeerMisbehaved::NotCanonical`] if a word of the row is not reduced.
pub fn add_to_row<'a>(
    ring: &Ring,
    block: impl Fn(usize) -> Option<&'a Vec<u64>>,
    changes: &[ByteChange],
    held: &mut [u8; ROW_BYTES],
) -> Result<()> {
    let mut sum = vec![0; N];
    let mut d = vec![0; N];
    for changes in changes.chunk_by(|a, b| a.column as usize / N == b.column as usize / N) {
        d.fill(0);
        for entry in changes {
            if let Some(slot) = d.get_mut(entry.column as usize % N) {
                *slot = ring::residue(entry.change.into());
            }
        }
        ring.plan().forward(&mut d);
        let block = changes.first().and_then(|entry| block(entry.column as usize / N));
        let block = block.ok_or(Misuse::Rule("a block must be transformed before it is used"))?;
        ring.plan().mul_acc(&mut sum, &d, block);
    }
    ring.plan().inverse(&mut sum);
    for (word, add) in held.as_chunks_mut::<4>().0.iter_mut().zip(sum) {
        let old = u32::from_le_bytes(*word);
        if old >= Q {
            return Err(PeerMisbehaved::NotCanonical("hint").into());
        }
        *word = (ring::reduce(i64::from(old) + add as i64) as u32).to_le_bytes();
    }
    Ok(())
}

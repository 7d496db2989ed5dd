//! Updating rows of a hint for changed bytes of a matrix: `H_r += sum of change * (row of A)` over
//! the changes of row r.

use super::ring::{self, N, Q, ROW_BYTES, Ring};
use crate::matrix::ByteChange;
use sotto_core::{Misuse, PeerMisbehaved, Result};
#[cfg(feature = "server")]
use sotto_core::{Section, Sink};
use std::collections::BTreeMap;

/// The values of a_k(1/X) for the blocks that have changes.
pub struct ReversedBlocks(BTreeMap<usize, Vec<u64>>);

impl ReversedBlocks {
    /// The reversed blocks that these changes need.
    pub fn touched(ring: &Ring, entries: &[ByteChange]) -> Self {
        let mut blocks = BTreeMap::new();
        for entry in entries {
            let k = entry.column as usize / N;
            blocks.entry(k).or_insert_with(|| ring.reversed_block(k));
        }
        ReversedBlocks(blocks)
    }

    /// Adds the changes of one row, ascending by column, to that row of a hint in an image. Returns
    /// the row's number and its new words.
    ///
    /// # Errors
    /// Those of [`add_to_row`](Self::add_to_row); storage errors.
    #[cfg(feature = "server")]
    pub fn write_row(
        &self,
        ring: &Ring,
        changes: &[ByteChange],
        hint: Section,
        out: &dyn Sink,
    ) -> Result<Option<(u32, [u8; ROW_BYTES])>> {
        let Some(first) = changes.first() else { return Ok(None) };
        let mut words = [0; ROW_BYTES];
        let offset = u64::from(first.row) * ROW_BYTES as u64;
        out.read_at(hint, offset, &mut words)?;
        self.add_to_row(ring, changes, &mut words)?;
        out.write_at(hint, offset, &words)?;
        Ok(Some((first.row, words)))
    }

    /// Adds the changes of one row, ascending by column, to that row of the hint in memory.
    ///
    /// # Errors
    /// Those of [`add_to_row`].
    pub fn add_to_row(&self, ring: &Ring, changes: &[ByteChange], held: &mut [u8; ROW_BYTES]) -> Result<()> {
        add_to_row(ring, |k| self.0.get(&k), changes, held)
    }
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

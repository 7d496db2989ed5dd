//! Moving a hint to the next epoch: `H_r += sum of change * (row of A)` over the changed bytes of row r.

use crate::SimplePir;
use crate::delta::{ByteChange, Delta};
use crate::params::Params;
use sotto_core::{Artifact, Misuse, Params as _, PatchArtifact, Result, wire};
use sotto_silent::lwe::dense::{BLOCK, DenseLwe};
use sotto_silent::lwe::ring::Ring;
use sotto_silent::lwe::update::ReversedBlocks;

impl PatchArtifact for SimplePir {
    fn patch(params: &Params, artifact: Artifact, held: &mut [u8], delta: &[u8]) -> Result<()> {
        if artifact != Artifact::Hint {
            return Err(Misuse::UnexpectedArtifact(artifact.name()).into());
        }
        wire::exact("hint", held, usize::try_from(params.hint_bytes()).unwrap_or(usize::MAX))?;
        let delta = Delta::take(params, delta)?;
        let row = |row: u32| row as usize * 4 * params.n()..(row as usize + 1) * 4 * params.n();
        for (number, words) in delta.rows() {
            if let Some(held) = held.get_mut(row(number)) {
                held.copy_from_slice(words);
            }
        }
        let entries: Vec<ByteChange> = delta.entries().collect();
        each_pass(params, &entries, |rows, entries| {
            for changes in entries.chunk_by(|a, b| a.row == b.row) {
                if let Some(held) = changes.first().and_then(|entry| held.get_mut(row(entry.row))) {
                    rows.add(changes, held)?;
                }
            }
            Ok(())
        })
    }
}

/// The rows of A that changes need.
pub(crate) enum PublicRows {
    /// Rows of ring blocks.
    Ring(Box<Ring>, ReversedBlocks),
    /// Rows of one block of a dense matrix, n words each.
    Dense(DenseLwe, Vec<u32>),
}

/// Passes the changes with the rows of A that they need: all at once, or one block of a dense
/// matrix at a time, so that their memory is some megabytes however many are touched. Changes are
/// ascending by (row, column), and stay so in each pass.
pub(crate) fn each_pass(
    params: &Params,
    entries: &[ByteChange],
    mut pass: impl FnMut(&PublicRows, &[ByteChange]) -> Result<()>,
) -> Result<()> {
    let Some(dense) = params.dense() else {
        let ring = Box::new(Ring::new()?);
        let blocks = ReversedBlocks::touched(&ring, entries);
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
        dense.rows(&params.literal().seed, k, &mut words);
        pass(&PublicRows::Dense(*dense, words), entries)?;
    }
    Ok(())
}

impl PublicRows {
    /// Adds the changes of one row to that row of the hint.
    pub(crate) fn add(&self, changes: &[ByteChange], held: &mut [u8]) -> Result<()> {
        match self {
            PublicRows::Ring(ring, blocks) => {
                let held = held.try_into().map_err(|_| Misuse::Rule("a row of a hint must have n words"))?;
                blocks.add_to_row(ring, changes, held)
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

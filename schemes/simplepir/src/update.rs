//! Moving a hint to the next epoch: `H_r += sum of change * (row of A)` over the changed bytes of row r.

use crate::SimplePir;
use crate::delta::{Delta, Entry, ROW_WORDS};
use crate::params::Params;
use sotto_core::{Artifact, Misuse, Patch, PeerMisbehaved, Result, wire};
use sotto_silent::lwe::ring::{self, N, Q, Ring};
use std::collections::BTreeMap;

impl Patch for SimplePir {
    fn patch(params: &Params, artifact: Artifact, held: &mut [u8], delta: &[u8]) -> Result<()> {
        if artifact != Artifact::Hint {
            return Err(Misuse::UnexpectedArtifact(artifact.name()).into());
        }
        wire::exact("hint", held, usize::try_from(params.hint_bytes()).unwrap_or(usize::MAX))?;
        let delta = Delta::take(params, delta)?;
        let (rows, _) = held.as_chunks_mut::<ROW_WORDS>();
        for (row, words) in delta.rows() {
            if let Some(held) = rows.get_mut(row as usize) {
                held.copy_from_slice(words);
            }
        }
        let entries: Vec<Entry> = delta.entries().collect();
        let ring = Ring::new()?;
        let blocks = ReversedBlocks::touched(&ring, &entries);
        for changes in entries.chunk_by(|a, b| a.row == b.row) {
            if let Some(held) = changes.first().and_then(|entry| rows.get_mut(entry.row as usize)) {
                blocks.add_to_row(&ring, changes, held)?;
            }
        }
        Ok(())
    }
}

/// The values of a_k(1/X) for the blocks that changes fall into.
pub(crate) struct ReversedBlocks(BTreeMap<usize, Vec<u64>>);

impl ReversedBlocks {
    pub(crate) fn touched(ring: &Ring, entries: &[Entry]) -> Self {
        let mut blocks = BTreeMap::new();
        for entry in entries {
            let k = entry.column as usize / N;
            blocks.entry(k).or_insert_with(|| ring.reversed_block(k));
        }
        ReversedBlocks(blocks)
    }

    /// Adds the changes of one row, ascending by column, to that row of the hint.
    ///
    /// One transform per touched block, whether one byte of it changed or all.
    pub(crate) fn add_to_row(
        &self,
        ring: &Ring,
        changes: &[Entry],
        held: &mut [u8; ROW_WORDS],
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
            let block = changes.first().and_then(|entry| self.0.get(&(entry.column as usize / N)));
            let block = block.ok_or(Misuse::Rule("a block is transformed before it is used"))?;
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
}

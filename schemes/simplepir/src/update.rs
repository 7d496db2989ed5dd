//! Moving a hint to the next epoch: `H_r += sum of change * (row of A)` over the changed bytes of row r.

use crate::SimplePir;
use crate::delta::{Delta, Entry};
use crate::params::Params;
use sotto_core::{Artifact, Misuse, Patch, Result, wire};
use sotto_silent::lwe::hint::ROW_BYTES;
use sotto_silent::lwe::ring::Ring;
use sotto_silent::lwe::update::ReversedBlocks;

impl Patch for SimplePir {
    fn patch(params: &Params, artifact: Artifact, held: &mut [u8], delta: &[u8]) -> Result<()> {
        if artifact != Artifact::Hint {
            return Err(Misuse::UnexpectedArtifact(artifact.name()).into());
        }
        wire::exact("hint", held, usize::try_from(params.hint_bytes()).unwrap_or(usize::MAX))?;
        let delta = Delta::take(params, delta)?;
        let (rows, _) = held.as_chunks_mut::<ROW_BYTES>();
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

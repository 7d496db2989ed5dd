//! Cuts: of each id the rank that parts its half from the other partitions.
//!
//! The top bytes of all ranks are made, one block for sixteen of them, and the byte is found at which half of the
//! partitions are below. Lower bits are made for the partitions that have that byte alone, one in 256.

use super::{blocks, each, input};
use crate::prf::{Prf, RANK, TIE, VOID, joined};
use sotto_math::rank;
use zeroize::Zeroize;

/// Ids that are one part of the work.
const PART: usize = 1024;

/// The cuts of as many ids as there is room for, from `first` on; [`VOID`] where there is none.
pub fn cuts(prf: &Prf, first: u32, out: &mut [u32]) {
    let parts = out.chunks_mut(PART).enumerate().collect();
    each(parts, |(part, out): (usize, &mut [u32])| {
        let mut scratch = Scratch::new(prf.partitions());
        for (i, out) in out.iter_mut().enumerate() {
            // Ids are numbers of 32 bits, and so are those before the last.
            *out = scratch.cut(prf, first + (part * PART + i) as u32);
        }
    });
}

/// What one cut is found with; wiped on drop.
struct Scratch {
    /// Top bytes of ranks, sixteen to a block.
    high: Vec<[u8; 16]>,
    /// A bit for each partition whose top byte is that of the cut.
    equal: Vec<u64>,
    members: Vec<u16>,
    inputs: Vec<[u8; 16]>,
    low: Vec<[u8; 16]>,
    ties: Vec<u32>,
}

impl Scratch {
    fn new(partitions: usize) -> Self {
        Scratch {
            high: vec![[0; 16]; partitions.div_ceil(16)],
            equal: vec![0; partitions.div_ceil(64)],
            members: Vec::new(),
            inputs: Vec::new(),
            low: Vec::new(),
            ties: Vec::new(),
        }
    }

    fn cut(&mut self, prf: &Prf, id: u32) -> u32 {
        let (c, j) = (prf.partitions(), u64::from(id));
        prf.aes().grid(RANK, self.high.len(), j, 1, &mut self.high);
        let split = rank::split(&self.high.as_flattened()[..c], c / 2, &mut self.equal);
        self.members.clear();
        for (word, at) in self.equal.iter().zip((0..).step_by(64)) {
            let mut word = *word;
            while word != 0 {
                // Partitions are at most 2^16.
                self.members.push((at + word.trailing_zeros()) as u16);
                word &= word - 1;
            }
        }
        self.inputs.clear();
        self.inputs.extend(self.members.iter().map(|k| input(TIE + u64::from(k / 4), j)));
        blocks(prf.aes(), &self.inputs, &mut self.low);
        self.ties.clear();
        let low = self.members.iter().zip(&self.low);
        self.ties.extend(low.map(|(k, low)| joined(split.byte, tie(low, *k))));
        cut_among(&mut self.ties, c / 2 - split.below)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.high.zeroize();
        self.equal.zeroize();
        self.members.zeroize();
        self.inputs.zeroize();
        self.low.zeroize();
        self.ties.zeroize();
    }
}

/// The rank of number `nth` (from 0) among those with one top byte, void if the one before is equal. Where there is none
/// before, that one's top byte is smaller.
fn cut_among(ties: &mut [u32], nth: usize) -> u32 {
    let (below, cut, _) = ties.select_nth_unstable(nth);
    if below.contains(cut) { VOID } else { *cut }
}

/// The word of partition `k` in its block of lower bits.
pub(super) fn tie(block: &[u8; 16], k: u16) -> u32 {
    u32::from_le_bytes(block.as_chunks::<4>().0[usize::from(k % 4)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tie_at_the_cut_and_no_other_makes_an_id_void() {
        assert_eq!(cut_among(&mut [9, 3, 7, 5], 0), 3);
        assert_eq!(cut_among(&mut [9, 3, 7, 5], 2), 7);
        assert_eq!(cut_among(&mut [3, 3, 7, 9], 2), 7);
        assert_eq!(cut_among(&mut [7, 7, 3, 9], 1), 7);
        assert_eq!(cut_among(&mut [7, 7, 3, 9], 2), VOID);
        assert_eq!(cut_among(&mut [4], 0), 4);
    }
}

//! Cuts: for each id the rank that separates its half from the other partitions.
//!
//! The top bytes of all ranks are computed, one block for sixteen of them, and the byte is found at
//! which half of the partitions are below. Lower bits are computed only for the partitions that
//! have that byte, one in 256, and their next byte is found in the same way.

use super::{blocks, input};
use crate::HalfSets;
use crate::prf::{RANK, TIE, VOID, joined};
use sotto_hints::one_server::Prf;
use sotto_hints::one_server::run::each;
use sotto_math::rank;
use zeroize::Zeroize;

/// Ids of one work item.
const PART: usize = 1024;

/// Computes the cuts of `out.len()` ids from `first` on; [`VOID`] for an id without one.
pub fn cuts(prf: &Prf<HalfSets>, first: u32, out: &mut [u32]) {
    let parts = out.chunks_mut(PART).enumerate().collect();
    each(parts, |(part, out): (usize, &mut [u32])| {
        let mut scratch = Scratch::new(prf.partitions());
        for (i, out) in out.iter_mut().enumerate() {
            // Ids are numbers of 32 bits, and so are those before the last.
            *out = scratch.cut(prf, first + (part * PART + i) as u32);
        }
    });
}

/// Working memory for finding one cut, wiped on drop.
struct Scratch {
    /// Top bytes of ranks, sixteen to a block.
    high: Vec<[u8; 16]>,
    /// A bit for each partition, or each member, that is set if its byte is that of the cut.
    equal: Vec<u64>,
    /// Partitions with the top byte of the cut.
    members: Vec<u16>,
    inputs: Vec<[u8; 16]>,
    blocks: Vec<[u8; 16]>,
    /// Lower bits of members, with their first byte in a list of its own.
    low: Vec<u32>,
    second: Vec<u8>,
    /// Members whose second byte is that of the cut too.
    last: Vec<u16>,
    ties: Vec<u32>,
}

impl Scratch {
    fn new(partitions: usize) -> Self {
        Scratch {
            high: vec![[0; 16]; partitions.div_ceil(16)],
            equal: vec![0; partitions.div_ceil(64)],
            members: Vec::new(),
            inputs: Vec::new(),
            blocks: Vec::new(),
            low: Vec::new(),
            second: Vec::new(),
            last: Vec::new(),
            ties: Vec::new(),
        }
    }

    fn cut(&mut self, prf: &Prf<HalfSets>, id: u32) -> u32 {
        let (c, j) = (prf.partitions(), u64::from(id));
        prf.aes().grid(RANK, self.high.len(), j, 1, &mut self.high);
        let first = rank::split(&self.high.as_flattened()[..c], c / 2, &mut self.equal);
        positions(&self.equal, first.equal, &mut self.members);
        self.inputs.clear();
        self.inputs.extend(self.members.iter().map(|k| input(TIE + u64::from(k / 4), j)));
        blocks(prf.aes(), &self.inputs, &mut self.blocks);
        self.low.clear();
        self.low.extend(self.members.iter().zip(&self.blocks).map(|(k, block)| tie(block, *k)));
        // The next byte is found in the same way, which leaves one or two.
        self.second.clear();
        self.second.extend(self.low.iter().map(|low| (low >> 16) as u8));
        let equal = &mut self.equal[..self.second.len().div_ceil(64)];
        let nth = c / 2 - first.below;
        let second = rank::split(&self.second, nth, equal);
        positions(equal, second.equal, &mut self.last);
        self.ties.clear();
        self.ties.extend(self.last.iter().map(|i| joined(first.byte, self.low[usize::from(*i)])));
        cut_among(&mut self.ties, nth - second.below)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.high.zeroize();
        self.equal.zeroize();
        self.members.zeroize();
        self.inputs.zeroize();
        self.blocks.zeroize();
        self.low.zeroize();
        self.second.zeroize();
        self.last.zeroize();
        self.ties.zeroize();
    }
}

/// The positions of the set bits, `count` of them. Most words have one or none, so the first two of
/// each are written without a test, and the next word overwrites those that did not exist.
fn positions(bits: &[u64], count: usize, out: &mut Vec<u16>) {
    out.clear();
    out.resize(count + 2, 0);
    let mut len = 0;
    // There are at most 2^16 bits.
    for (&word, at) in bits.iter().zip((0..).step_by(64)) {
        let next = word & word.wrapping_sub(1);
        out[len] = (at + word.trailing_zeros()) as u16;
        len += usize::from(word != 0);
        out[len] = (at + next.trailing_zeros()) as u16;
        len += usize::from(next != 0);
        let mut rest = next & next.wrapping_sub(1);
        while rest != 0 {
            out[len] = (at + rest.trailing_zeros()) as u16;
            len += 1;
            rest &= rest - 1;
        }
    }
    out.truncate(count);
}

/// The rank of number `nth` (from 0) among those with the same two upper bytes; void if the one
/// before is equal. If there is none before, its upper bytes are smaller.
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

    #[test]
    fn every_bit_has_its_position() {
        let words = [0, 1, 1 << 63, 0b1011, u64::MAX, 0, 3 << 40, 1 << 5];
        let all: Vec<u16> = (0..words.len() as u16 * 64).collect();
        let set = |i: &u16| words[usize::from(*i / 64)] >> (i % 64) & 1 == 1;
        for len in 0..=words.len() {
            let expected: Vec<u16> = all[..len * 64].iter().copied().filter(set).collect();
            let mut out = vec![7; 3];
            positions(&words[..len], expected.len(), &mut out);
            assert_eq!(out, expected);
        }
    }
}

//! The halves of ids: for each id the cut, which is the rank that separates its half from the other
//! partitions; and for each hint its extra entry, one row in a partition outside its half.
//!
//! For cuts the top bytes of all ranks are computed, one block for sixteen of them, and the byte is
//! found at which half of the partitions are below. Lower bits are computed only for the partitions
//! that have that byte, one in 256, and their next byte is found in the same way.
//!
//! For extra entries a hint tries places until one is outside its half; about half of them are.
//! Tries of many hints are made together, and those without success go on to the next block.

use super::{blocks, input};
use crate::HalfSets;
use crate::prf::{EXTRA, RANK, TIE, VOID, joined, rank as rank_of, tries};
use sotto_hints::one_server::run::each;
use sotto_hints::one_server::{PartitionPlace, Prf};
use sotto_math::rank;
use std::ops::Range;
use zeroize::{Zeroize, Zeroizing};

/// Ids of one work item.
const PART_IDS: usize = 1024;

/// Computes the cuts of `out.len()` ids from `first` on; [`VOID`] for an id without one.
pub fn cuts(prf: &Prf<HalfSets>, first: u32, out: &mut [u32]) {
    let parts = out.chunks_mut(PART_IDS).enumerate().collect();
    each(parts, |(part, out): (usize, &mut [u32])| {
        let mut scratch = Scratch::new(prf.partitions());
        for (i, out) in out.iter_mut().enumerate() {
            // Ids are numbers of 32 bits, and so are those before the last.
            *out = scratch.cut(prf, first + (part * PART_IDS + i) as u32);
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

/// Hints that try together.
const PART_HINTS: usize = 512;

/// Computes the extra entries of `out.len()` hints from id `first` on, given their cuts.
pub fn extras(prf: &Prf<HalfSets>, first: u32, cuts: &[u32], out: &mut [PartitionPlace]) {
    let parts = cuts.chunks(PART_HINTS).zip(out.chunks_mut(PART_HINTS)).enumerate().collect();
    each(parts, |(part, (cuts, out)): (usize, (&[u32], &mut [PartitionPlace]))| {
        // Ids are numbers of 32 bits, and so are those before the last.
        together(prf, first + (part * PART_HINTS) as u32, cuts, out);
    });
}

fn together(prf: &Prf<HalfSets>, first: u32, cuts: &[u32], out: &mut [PartitionPlace]) {
    let mut searching: Vec<u32> = (0..cuts.len() as u32).collect();
    let mut inputs = Zeroizing::new(Vec::new());
    let (mut tried, mut tops) = (Zeroizing::new(Vec::new()), Zeroizing::new(Vec::new()));
    for x in EXTRA.. {
        if searching.is_empty() {
            return;
        }
        inputs.clear();
        inputs.extend(searching.iter().map(|i| input(x, u64::from(first + i))));
        blocks(prf.aes(), &inputs, &mut tried);
        let places: Vec<[Option<PartitionPlace>; 2]> = tried.iter().map(|block| both(prf, block)).collect();
        // Top bytes of the ranks of the tried partitions; where nothing was tried, of any
        // partition.
        inputs.clear();
        for (i, places) in searching.iter().zip(&places) {
            let x = places.map(|place| RANK + place.map_or(0, |place| u64::from(place.partition) / 16));
            inputs.extend(x.map(|x| input(x, u64::from(first + i))));
        }
        blocks(prf.aes(), &inputs, &mut tops);
        let mut rest = Vec::new();
        for ((&i, places), tops) in searching.iter().zip(&places).zip(tops.as_chunks::<2>().0) {
            let cut = cuts[i as usize];
            let outside = |(place, tops): (&Option<PartitionPlace>, &[u8; 16])| {
                let place = (*place)?;
                let top = u32::from(tops[usize::from(place.partition % 16)]);
                // For one in 256 the top byte does not decide.
                let is = if top == cut >> 24 {
                    rank_of(prf, first + i, place.partition) >= cut
                } else {
                    top > cut >> 24
                };
                is.then_some(place)
            };
            match places.iter().zip(tops).find_map(outside) {
                Some(place) => out[i as usize] = place,
                None => rest.push(i),
            }
        }
        searching = rest;
    }
}

/// The two places that a block tries, if their partitions exist.
fn both(prf: &Prf<HalfSets>, block: &[u8; 16]) -> [Option<PartitionPlace>; 2] {
    tries(prf, u128::from_le_bytes(*block)).map(|(partition, offset)| {
        // Below c, which is at most 2^16.
        let place = PartitionPlace { partition: partition as u16, offset };
        (partition < prf.partitions()).then_some(place)
    })
}

/// Hints grouped by the partition of their extra entry.
pub(super) struct ByPartition {
    /// Hints counted from the first, partition after partition.
    order: Vec<u32>,
    /// The index in `order` of the first hint of each partition, and the end of the last.
    starts: Vec<u32>,
}

impl ByPartition {
    /// Groups hints by counting sort.
    pub(super) fn new(extras: &[PartitionPlace], partitions: usize) -> Self {
        let mut starts = vec![0u32; partitions + 1];
        for place in extras {
            starts[usize::from(place.partition) + 1] += 1;
        }
        for k in 0..partitions {
            starts[k + 1] += starts[k];
        }
        let mut next = starts.clone();
        let mut order = vec![0; extras.len()];
        for (place, i) in extras.iter().zip(0..) {
            let at = &mut next[usize::from(place.partition)];
            order[*at as usize] = i;
            *at += 1;
        }
        ByPartition { order, starts }
    }

    /// The hints of a partition.
    pub(super) fn of(&self, partition: usize) -> &[u32] {
        let Range { start, end } = self.starts[partition]..self.starts[partition + 1];
        &self.order[start as usize..end as usize]
    }
}

impl Drop for ByPartition {
    fn drop(&mut self) {
        self.order.zeroize();
        self.starts.zeroize();
    }
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

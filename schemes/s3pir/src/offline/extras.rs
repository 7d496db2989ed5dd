//! Extra entries: for each hint one row in a partition outside its half.
//!
//! A hint tries places until one is outside its half; about half of them are. Tries of many hints
//! are made together, and those without success go on to the next block.

use super::{blocks, input};
use crate::HalfSets;
use crate::prf::{EXTRA, RANK, rank, tries};
use sotto_hints::one_server::run::each;
use sotto_hints::one_server::{PartitionPlace, Prf};
use std::ops::Range;
use zeroize::Zeroizing;

/// Hints that try together.
const PART: usize = 512;

/// Computes the extra entries of `out.len()` hints from id `first` on, given their cuts.
pub fn extras(prf: &Prf<HalfSets>, first: u32, cuts: &[u32], out: &mut [PartitionPlace]) {
    let parts = cuts.chunks(PART).zip(out.chunks_mut(PART)).enumerate().collect();
    each(parts, |(part, (cuts, out)): (usize, (&[u32], &mut [PartitionPlace]))| {
        // Ids are numbers of 32 bits, and so are those before the last.
        together(prf, first + (part * PART) as u32, cuts, out);
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
                    rank(prf, first + i, place.partition) >= cut
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
        zeroize::Zeroize::zeroize(&mut self.order);
        zeroize::Zeroize::zeroize(&mut self.starts);
    }
}

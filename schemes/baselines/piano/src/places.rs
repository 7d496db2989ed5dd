//! The public order of rows in partitions: row i is at place p(i), and p is a pseudo-random
//! permutation of all places. The paper permutes the table for the same reason, where it removes
//! the assumption that queries are random.
//!
//! Backups belong to partitions, so requested rows have to be spread over them evenly. Under this
//! order they are, for anyone who chooses rows independently of it: consecutive rows, say, or those
//! of one region. Its key is a constant and nothing is secret about it, so an adversary can find
//! rows of one partition and make a client's lookups fail.
//!
//! The permutation is an alternating Feistel network on the numbers (partition, offset): eight
//! rounds, of which every other adds to the offset a function of the partition, and the rest to the
//! partition, modulo c, a function of the offset. So it is a permutation of exactly c w numbers,
//! and the time does not depend on the index.

use sotto_hints::one_server::{PartitionPlace, RowOrder};
use sotto_math::aes::Aes;
use zeroize::Zeroize;

const KEY: &[u8; 16] = b"piano/1: places.";

const ROUNDS: u64 = 8;

/// The permutation of one table's rows.
pub struct PartitionPermutation {
    aes: Aes,
    partitions: u64,
    /// The mask that makes an offset of 64 bits: w - 1.
    mask: u64,
}

/// The place of a row after some rounds.
#[derive(Clone, Copy, Default, Zeroize)]
struct CycleWalk {
    partition: u64,
    offset: u64,
}

impl RowOrder for PartitionPermutation {
    fn new(partitions: usize, partition_rows: usize) -> Self {
        PartitionPermutation {
            aes: Aes::new(KEY),
            partitions: partitions as u64,
            mask: partition_rows as u64 - 1,
        }
    }

    fn run(&self, first: u64, out: &mut [PartitionPlace]) {
        let shift = self.mask.count_ones();
        let start = |row: u64| CycleWalk { partition: row >> shift, offset: row & self.mask };
        let mut walks: Vec<CycleWalk> = (first..).take(out.len()).map(start).collect();
        let mut inputs = vec![[0; 16]; out.len()];
        let mut blocks = vec![[0; 16]; out.len()];
        for round in 0..ROUNDS {
            let odd = round % 2 == 1;
            for (input, walk) in inputs.iter_mut().zip(&walks) {
                let half = if odd { walk.offset } else { walk.partition };
                *input = (u128::from(half) << 64 | u128::from(round)).to_le_bytes();
            }
            self.aes.mmo(&inputs, &mut blocks);
            for (walk, block) in walks.iter_mut().zip(&blocks) {
                let word = u128::from_le_bytes(*block) as u64;
                if odd {
                    // Uniform below c, within 2^-48; then a sum below 2c, reduced modulo c.
                    let add = ((u128::from(word) * u128::from(self.partitions)) >> 64) as u64;
                    let sum = (walk.partition + add).wrapping_sub(self.partitions);
                    walk.partition = sum.wrapping_add(self.partitions & (sum >> 63).wrapping_neg());
                } else {
                    walk.offset ^= word & self.mask;
                }
            }
        }
        for (place, walk) in out.iter_mut().zip(&walks) {
            // Both are below 2^16.
            *place = PartitionPlace { partition: walk.partition as u16, offset: walk.offset as u16 };
        }
        walks.zeroize();
        inputs.zeroize();
        blocks.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params;
    use sotto_core::{Params as _, TableShape};

    fn places(rows: u64) -> (Params, PartitionPermutation, Vec<PartitionPlace>) {
        let params = Params::check(Params::select(&TableShape::new(rows, 1, 100)).unwrap()).unwrap();
        let mut all = vec![PartitionPlace::default(); params.places() as usize];
        let order = PartitionPermutation::new(params.partitions(), params.partition_rows());
        order.run(0, &mut all);
        (params, order, all)
    }

    #[test]
    fn every_place_has_one_row() {
        for rows in (1..70).chain([1000, 4095, 4096, 4097, 70_000]) {
            let (params, order, all) = places(rows);
            let mut seen = vec![false; all.len()];
            for (row, place) in all.iter().enumerate() {
                assert_eq!(order.of(row as u64), *place);
                let at = params.index(*place) as usize;
                assert!(params.has(*place) && !std::mem::replace(&mut seen[at], true), "{rows}");
            }
        }
    }

    /// Of a thousand rows in sequence, by steps that regular tables have, no partition has many
    /// more than its share. The mean is 4, and more than 19 have probability 2^-26 under a random
    /// order.
    #[test]
    fn regular_rows_are_spread_evenly() {
        let (params, _, all) = places(1 << 16);
        assert_eq!((params.partitions(), params.partition_rows()), (256, 256));
        for step in [1, 2, 16, 255, 256, 257, 4097] {
            let rows: std::collections::BTreeSet<usize> = (0..1000).map(|i| i * step % all.len()).collect();
            let mut counts = vec![0u32; 256];
            rows.iter().for_each(|row| counts[usize::from(all[*row].partition)] += 1);
            let most = counts.iter().max().unwrap();
            assert!(*most <= 19, "{most} of one partition, by steps of {step}");
        }
    }
}

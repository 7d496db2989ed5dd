//! Blocks times selections, in one pass over the blocks.

use super::selection::SelectionMatrices;
use crate::simd::shapes::SelectShape;
use crate::simd::{self, Kernels};

/// Bytes of a line, which the widest backend multiplies at once, and to which records are padded in
/// blocks.
const LINE: usize = 64;

/// Xors the selected records to each query's sum.
///
/// `selections` holds the [`SelectionMatrices`] of all groups for the first 64 blocks, then of all
/// groups for the next 64, and so on. `sums` has a block for each group: bit `i` of its byte `t` is
/// bit `t` of the sum of the group's query `i`, which [`unslice`](super::unslice) decodes. All
/// groups share the pass: blocks are read from memory once.
///
/// # Panics
/// If `record_bytes` is not a positive multiple of 8, `blocks` is not whole blocks, `sums` is not
/// one block per group for `queries` queries, or the number of matrices does not match groups and
/// blocks.
pub fn scan(
    blocks: &[u8],
    record_bytes: usize,
    queries: usize,
    selections: &[SelectionMatrices],
    sums: &mut [u8],
) {
    scan_with(
        simd::kernels(),
        &simd::shapes::shapes().select,
        blocks,
        record_bytes,
        queries,
        selections,
        sums,
    );
}

pub(crate) fn scan_with(
    kernels: &dyn Kernels,
    shape: &SelectShape,
    blocks: &[u8],
    record_bytes: usize,
    queries: usize,
    selections: &[SelectionMatrices],
    sums: &mut [u8],
) {
    assert!(record_bytes > 0 && record_bytes.is_multiple_of(8), "records of a multiple of 8 bytes");
    let block_bytes = record_bytes * 8;
    assert_eq!(blocks.len() % block_bytes, 0, "whole blocks");
    let groups = queries.div_ceil(8);
    assert_eq!(sums.len(), groups * block_bytes, "one block per group");
    let runs = (blocks.len() / block_bytes).div_ceil(64);
    assert_eq!(selections.len(), groups * runs, "matrices for all blocks and groups");
    if groups > 0 {
        let (blocks, sums) = (blocks.as_chunks::<LINE>().0, sums.as_chunks_mut::<LINE>().0);
        kernels.select(shape, blocks, queries, selections, sums);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bitslice::{slice, unslice};
    use crate::simd::available;
    use crate::simd::shapes::SELECT;

    fn mix(i: u64) -> u64 {
        let z = i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (z ^ z >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9).rotate_left(23)
    }

    /// Compares every backend with the definition: each query's records, one after the other.
    fn check(record_bytes: usize, blocks: usize, queries: usize) {
        let records: Vec<u8> = (0..blocks * 8 * record_bytes).map(|i| mix(i as u64) as u8).collect();
        let mut sliced = vec![0; records.len()];
        let block_bytes = record_bytes * 8;
        for (records, block) in records.chunks(block_bytes).zip(sliced.chunks_mut(block_bytes)) {
            slice(records, block);
        }
        let (groups, runs) = (queries.div_ceil(8), blocks.div_ceil(64));
        let selected = |q: usize, record: usize| mix((q as u64) << 32 | record as u64) >> 17 & 1 == 1;
        let row = |q: usize, block: usize| {
            (0..8).map(|r| u8::from(q < queries && selected(q, block * 8 + r)) << r).sum::<u8>()
        };
        let selections: Vec<SelectionMatrices> = (0..runs * groups)
            .map(|i| {
                let (run, g) = (i / groups, i % groups);
                std::array::from_fn(|k| {
                    u64::from_be_bytes(std::array::from_fn(|q| row(g * 8 + q, run * 64 + k)))
                })
            })
            .collect();
        let start: Vec<u8> = (0..groups * block_bytes).map(|i| mix(!(i as u64)) as u8).collect();
        let mut of_scalar = None;
        for kernels in available().collect::<Vec<_>>().into_iter().rev() {
            let mut sums = start.clone();
            scan_with(kernels, &SELECT[0].1, &sliced, record_bytes, queries, &selections, &mut sums);
            for (name, shape) in SELECT {
                let mut again = start.clone();
                scan_with(kernels, shape, &sliced, record_bytes, queries, &selections, &mut again);
                assert!(again == sums, "{name}, by {}", kernels.name());
            }
            for q in 0..queries {
                let mut expected = vec![0; record_bytes];
                unslice(&start[q / 8 * block_bytes..][..block_bytes], q % 8, &mut expected);
                for (record, bytes) in records.chunks(record_bytes).enumerate() {
                    if selected(q, record) {
                        expected.iter_mut().zip(bytes).for_each(|(e, b)| *e ^= b);
                    }
                }
                let mut got = vec![0; record_bytes];
                unslice(&sums[q / 8 * block_bytes..][..block_bytes], q % 8, &mut got);
                let what = format!("query {q} of {queries}, {blocks} blocks of {record_bytes} bytes");
                assert!(got == expected, "{what}, by {}", kernels.name());
            }
            let first = of_scalar.get_or_insert_with(|| sums.clone());
            assert!(*first == sums, "{} differs from scalar in what stands for no query", kernels.name());
        }
    }

    #[test]
    fn every_width_of_tile_is_the_sum_of_selected_records() {
        for record_bytes in [8, 16, 24, 32, 40, 64, 72, 136] {
            for blocks in [0, 1, 2, 63, 64, 65, 131] {
                check(record_bytes, blocks, 3);
            }
        }
    }

    #[test]
    fn every_number_of_queries_is_the_sum_of_selected_records() {
        for queries in [0, 1, 2, 7, 8, 9, 16, 17, 24, 32, 40, 41, 48, 49, 56, 64, 97] {
            for (record_bytes, blocks) in [(8, 65), (32, 67), (104, 9)] {
                check(record_bytes, blocks, queries);
            }
        }
    }

    #[test]
    fn wide_records_in_strips_are_the_sum_of_selected_records() {
        for (record_bytes, blocks, queries) in
            [(4096, 9, 1), (4104, 9, 9), (2048 + 8, 17, 2), (10_000, 3, 50), (8200, 3, 1), (2048 + 8, 9, 32)]
        {
            check(record_bytes, blocks, queries);
        }
    }
}

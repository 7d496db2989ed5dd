//! Records in bit slices, and the one pass that xors the selected ones for many queries.
//!
//! A query selects records with one bit each and needs the exclusive or of the selected ones. Done
//! record by record, that is a masked load per query. In *bit slices* it is linear algebra: byte
//! `t` of a block holds bit `t` of its eight records, so the selection bits of eight queries for
//! the block are an 8 x 8 matrix, and matrix times byte is one bit for each query. AVX-512 with
//! GFNI has that product, for 64 bytes at once.
//!
//! ```text
//! byte t of a block, 0 <= t < 8 * record_bytes:
//!
//!    bit     7          6          ...  1          0
//!         +----------+----------+-----+----------+----------+
//!         | bit t of | bit t of |     | bit t of | bit t of |
//!         | record 7 | record 6 | ... | record 1 | record 0 |
//!         +----------+----------+-----+----------+----------+
//! ```
//!
//! Bit `t` of a record is bit `t % 8` of its byte `t / 8`. A block has the size of its records.

pub use crate::simd::args::{RUN_RECORDS, SelectionMatrices, SelectionShare};
use crate::simd::shapes::SelectShape;
use crate::simd::{self, Kernels};

/// Records in a block.
pub const BLOCK_RECORDS: usize = 8;

/// Encodes eight consecutive records as a block.
///
/// # Panics
/// If `records` is not eight records of a multiple of 8 bytes, or `block` has another size.
pub fn slice(records: &[u8], block: &mut [u8]) {
    assert_eq!(records.len(), block.len(), "a block of the records' size");
    assert_eq!(records.len() % 64, 0, "eight records of a multiple of 8 bytes");
    let words = records.as_chunks::<8>().0;
    let width = words.len() / BLOCK_RECORDS;
    for (w, out) in block.as_chunks_mut::<64>().0.iter_mut().enumerate() {
        let column: [u64; 8] = std::array::from_fn(|i| u64::from_le_bytes(words[i * width + w]));
        let bytes = transpose_bytes(column);
        for (out, word) in out.as_chunks_mut::<8>().0.iter_mut().zip(bytes) {
            *out = transpose_bits(word).to_le_bytes();
        }
    }
}

/// Decodes one of eight records from its block: the bits numbered `which` of all bytes.
///
/// Sums of a [`scan`](scan()) have the same form, with queries in place of records.
///
/// # Panics
/// If `which` is not below 8, or `block` is not eight times as long as `record`.
pub fn unslice(block: &[u8], which: usize, record: &mut [u8]) {
    assert!(which < BLOCK_RECORDS, "one of eight");
    assert_eq!(block.len(), record.len() * BLOCK_RECORDS, "a block of records of this size");
    for (byte, slices) in record.iter_mut().zip(block.as_chunks::<8>().0) {
        let bits = u64::from_le_bytes(*slices) >> which & 0x0101_0101_0101_0101;
        // Bit 8 b of the factor times bit 7 (8 - b) of the constant is bit 56 + b, and no two
        // products collide.
        *byte = (bits.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8;
    }
}

/// Writes bytes of one of eight records into their slices: the reverse of [`unslice`], also for
/// changes of a part.
///
/// # Panics
/// As [`unslice`], for the slices that hold those bytes.
pub fn reslice(record: &[u8], which: usize, block: &mut [u8]) {
    assert!(which < BLOCK_RECORDS, "one of eight");
    assert_eq!(block.len(), record.len() * BLOCK_RECORDS, "the slices of these bytes");
    for (byte, slices) in record.iter().zip(block.as_chunks_mut::<8>().0) {
        for (b, slice) in slices.iter_mut().enumerate() {
            *slice = *slice & !(1 << which) | (byte >> b & 1) << which;
        }
    }
}

/// Moves byte `i` of word `j` to byte `j` of word `i`.
pub(crate) fn transpose_bytes(mut x: [u64; 8]) -> [u64; 8] {
    for (step, mask) in [(4, 0x0000_0000_FFFF_FFFF), (2, 0x0000_FFFF_0000_FFFF), (1, 0x00FF_00FF_00FF_00FF)] {
        let bits = 8 * step;
        for i in (0..8).filter(|i| i & step == 0) {
            let (low, high) = (x[i], x[i + step]);
            x[i] = low & mask | (high & mask) << bits;
            x[i + step] = low >> bits & mask | high & !mask;
        }
    }
    x
}

/// Moves bit `i` of byte `j` to bit `j` of byte `i`.
fn transpose_bits(mut x: u64) -> u64 {
    for (shift, mask) in
        [(7, 0x00AA_00AA_00AA_00AA), (14, 0x0000_CCCC_0000_CCCC), (28, 0x0000_0000_F0F0_F0F0)]
    {
        let swap = (x ^ x >> shift) & mask;
        x ^= swap ^ swap << shift;
    }
    x
}

/// Queries whose selections make one matrix.
pub const GROUP: usize = 8;

/// Writes the matrices of up to eight queries for each of their runs, to every `step`-th element of
/// `out`.
///
/// Several groups of queries are interleaved, run after run: group `g` of `step` groups is written
/// to `&mut out[g..]`. Rows of absent queries are zero.
///
/// # Panics
/// If there is no query or more than eight, their runs differ in number, or `out` is too short.
pub fn matrices(shares: &[SelectionShare<'_>], step: usize, out: &mut [SelectionMatrices]) {
    matrices_with(simd::kernels(), shares, step, out);
}

pub(crate) fn matrices_with(
    kernels: &dyn Kernels,
    shares: &[SelectionShare<'_>],
    step: usize,
    out: &mut [SelectionMatrices],
) {
    assert!((1..=GROUP).contains(&shares.len()), "one to eight queries");
    let runs = shares[0].masks.len();
    assert!(
        shares.iter().all(|s| s.bytes.len() == runs && s.masks.len() == runs),
        "as many runs in each share"
    );
    assert!(step > 0 && out.len().div_ceil(step) >= runs, "an output for all runs");
    kernels.matrices(shares, step, out);
}

/// Bytes of a line, which the widest backend multiplies at once, and to which records are padded in
/// blocks.
const LINE: usize = 64;

/// Xors the selected records to each query's sum.
///
/// `selections` holds the [`SelectionMatrices`] of all groups for the first 64 blocks, then of all
/// groups for the next 64, and so on. `sums` has a block for each group: bit `i` of its byte `t` is
/// bit `t` of the sum of the group's query `i`, which [`unslice`] decodes. All
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
    use super::{slice, unslice, *};
    use crate::simd::available;
    use crate::simd::shapes::SELECT;

    fn byte(i: usize) -> u8 {
        ((i as u32).wrapping_mul(2654435761) >> 11) as u8
    }

    #[test]
    fn a_byte_holds_one_bit_of_each_record() {
        for width in [8, 16, 40] {
            let records: Vec<u8> = (0..8 * width).map(byte).collect();
            let mut block = vec![0; 8 * width];
            slice(&records, &mut block);
            for (t, slice) in block.iter().enumerate() {
                for r in 0..8 {
                    let bit = records[r * width + t / 8] >> (t % 8) & 1;
                    assert_eq!(slice >> r & 1, bit, "bit {t} of record {r}");
                }
            }
            for r in 0..8 {
                let mut record = vec![0; width];
                unslice(&block, r, &mut record);
                assert_eq!(record, records[r * width..][..width], "record {r}");
            }
        }
    }

    #[test]
    fn a_part_of_a_record_is_replaced_and_nothing_else() {
        let mut records: Vec<u8> = (0..8 * 24).map(byte).collect();
        let mut block = vec![0; records.len()];
        slice(&records, &mut block);
        for (which, at, len) in [(0, 0, 24), (7, 23, 1), (3, 5, 9), (4, 8, 0)] {
            let new: Vec<u8> = (0..len).map(|i| byte(1000 * which + i)).collect();
            reslice(&new, which, &mut block[8 * at..8 * (at + len)]);
            records[24 * which + at..][..len].copy_from_slice(&new);
            let mut fresh = vec![0; records.len()];
            slice(&records, &mut fresh);
            assert!(block == fresh, "{len} bytes of record {which}");
        }
    }

    #[test]
    fn bytes_are_transposed() {
        let x: [u64; 8] =
            std::array::from_fn(|j| u64::from_le_bytes(std::array::from_fn(|i| byte(8 * j + i))));
        let y = transpose_bytes(x);
        for (i, y) in y.iter().enumerate() {
            for (j, x) in x.iter().enumerate() {
                assert_eq!(y.to_le_bytes()[j], x.to_le_bytes()[i]);
            }
        }
    }

    #[test]
    fn every_backend_gives_the_rows_in_order() {
        let byte = |i: usize| ((i as u32).wrapping_mul(2654435761) >> 9) as u8;
        for (queries, runs, step) in [(1, 3, 1), (3, 1, 2), (8, 5, 3), (7, 2, 1)] {
            let bytes: Vec<Vec<[u8; 64]>> = (0..queries)
                .map(|q| (0..runs).map(|r| std::array::from_fn(|k| byte(q * 7919 + r * 64 + k))).collect())
                .collect();
            let masks: Vec<Vec<u8>> = (0..queries)
                .map(|q| (0..runs).map(|r| 0u8.wrapping_sub((q + r) as u8 & 1)).collect())
                .collect();
            let words: Vec<[u8; 64]> =
                (0..queries).map(|q| std::array::from_fn(|k| byte(q * 31 + k + 5))).collect();
            let shares: Vec<SelectionShare<'_>> = (0..queries)
                .map(|q| SelectionShare { bytes: &bytes[q], masks: &masks[q], word: &words[q] })
                .collect();
            for kernels in available() {
                let mut out = vec![[0xAAAA; 64]; runs * step];
                matrices_with(kernels, &shares, step, &mut out);
                for (i, got) in out.iter().enumerate() {
                    let (run, at) = (i / step, i % step);
                    let expected: SelectionMatrices = std::array::from_fn(|k| {
                        let row = |q: usize| {
                            if q >= queries { 0 } else { bytes[q][run][k] ^ (masks[q][run] & words[q][k]) }
                        };
                        if at == 0 { u64::from_be_bytes(std::array::from_fn(row)) } else { 0xAAAA }
                    });
                    assert_eq!(*got, expected, "{queries} queries, place {i}, by {}", kernels.name());
                }
            }
        }
    }

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

//! The sum of selected records: see the scalar kernel for the definition.
//!
//! The product of a bit matrix and a byte is linear, so it is the product with the byte's lower
//! half plus that with the upper: two tables of sixteen bytes, each a register, give the bits of
//! eight queries at once. A single query has masked sums instead.

use super::registers::Register16;
use crate::simd::args::SelectionMatrices;
use crate::simd::generic::Register;
use core::arch::aarch64::*;

type Line = [u8; 64];
/// Tables of a matrix's products with lower and with upper halves.
type Halves = [uint8x16_t; 2];

/// Lines of a block that are processed before those beyond.
const STRIP: usize = 256;
/// Lines of a block up to which all 64 blocks of a run are processed at once; otherwise eight are.
const NARROW: usize = 8;
const FEW: usize = 8;

#[target_feature(enable = "neon")]
pub(super) fn select(blocks: &[Line], queries: usize, selections: &[SelectionMatrices], sums: &mut [Line]) {
    let groups = queries.div_ceil(8);
    let lines = sums.len() / groups;
    let depth = if lines <= NARROW { 64 } else { FEW };
    let mut tables = [[vdupq_n_u8(0); 2]; 64];
    for strip in (0..lines).step_by(STRIP) {
        let end = lines.min(strip + STRIP);
        for (run, selections) in blocks.chunks(64 * lines).zip(selections.chunks_exact(groups)) {
            for (part, first) in run.chunks(depth * lines).zip((0..64).step_by(depth)) {
                for (g, matrices) in selections.iter().enumerate() {
                    let matrices = &matrices[first..first + part.len() / lines];
                    let sums = &mut sums[g * lines..][strip..end];
                    if queries - 8 * g == 1 {
                        for (line, sum) in (strip..).zip(sums) {
                            one(part, lines, line, matrices, sum);
                        }
                        continue;
                    }
                    for (tables, matrix) in tables.iter_mut().zip(matrices) {
                        *tables = halves(*matrix);
                    }
                    for (line, sum) in (strip..).zip(sums) {
                        eight(part, lines, line, &tables[..matrices.len()], sum);
                    }
                }
            }
        }
    }
}

/// Adds the records that eight queries select in one line of some blocks to the line's sum.
#[inline]
#[target_feature(enable = "neon")]
fn eight(blocks: &[Line], lines: usize, line: usize, tables: &[Halves], sum: &mut Line) {
    let mut bits = load(sum);
    for (block, [low, high]) in blocks.chunks_exact(lines).zip(tables) {
        for (bits, bytes) in bits.iter_mut().zip(load(&block[line])) {
            let of_low = vqtbl1q_u8(*low, vandq_u8(bytes, vdupq_n_u8(15)));
            let of_high = vqtbl1q_u8(*high, vshrq_n_u8::<4>(bytes));
            *bits = veorq_u8(*bits, veorq_u8(of_low, of_high));
        }
    }
    store(sum, bits);
}

/// Adds the records that the first query selects in one line of some blocks to the line's sum.
#[inline]
#[target_feature(enable = "neon")]
fn one(blocks: &[Line], lines: usize, line: usize, matrices: &[u64], sum: &mut Line) {
    let mut masked = [vdupq_n_u8(0); 4];
    for (block, matrix) in blocks.chunks_exact(lines).zip(matrices) {
        let row = vdupq_n_u8(matrix.to_be_bytes()[0]);
        for (masked, bytes) in masked.iter_mut().zip(load(&block[line])) {
            *masked = veorq_u8(*masked, vandq_u8(bytes, row));
        }
    }
    let mut bits = load(sum);
    for (bits, masked) in bits.iter_mut().zip(masked) {
        *bits = veorq_u8(*bits, vandq_u8(vcntq_u8(masked), vdupq_n_u8(1)));
    }
    store(sum, bits);
}

/// Computes the products of a matrix, whose first row is the highest byte, with each number below
/// 16, as the lower and as the upper half of a byte: bit `i` is the parity of the bits that it and
/// row `i` have in common.
#[inline]
#[target_feature(enable = "neon")]
fn halves(matrix: u64) -> Halves {
    let columns = vdup_n_u64(columns(matrix));
    let columns = vreinterpretq_u8_u64(vcombine_u64(columns, columns));
    let numbers = Register16::new().load(&[0u8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    let of = |i: [uint8x16_t; 4]| {
        let mut sum = vdupq_n_u8(0);
        for (column, bit) in i.into_iter().zip([1, 2, 4, 8]) {
            sum = veorq_u8(sum, vandq_u8(column, vtstq_u8(numbers, vdupq_n_u8(bit))));
        }
        sum
    };
    [
        of([
            vdupq_laneq_u8::<0>(columns),
            vdupq_laneq_u8::<1>(columns),
            vdupq_laneq_u8::<2>(columns),
            vdupq_laneq_u8::<3>(columns),
        ]),
        of([
            vdupq_laneq_u8::<4>(columns),
            vdupq_laneq_u8::<5>(columns),
            vdupq_laneq_u8::<6>(columns),
            vdupq_laneq_u8::<7>(columns),
        ]),
    ]
}

/// Computes the columns of a matrix whose first row is the highest byte, the first column in the
/// lowest: a transposition in three steps (Warren, "Hacker's Delight", section 7-3).
fn columns(matrix: u64) -> u64 {
    let swap = |x: u64, mask: u64, by: u32| {
        let moved = (x ^ x >> by) & mask;
        x ^ moved ^ moved << by
    };
    let x = swap(matrix.swap_bytes(), 0x00AA_00AA_00AA_00AA, 7);
    let x = swap(x, 0x0000_CCCC_0000_CCCC, 14);
    swap(x, 0x0000_0000_F0F0_F0F0, 28)
}

#[inline]
#[target_feature(enable = "neon")]
fn load(line: &Line) -> [uint8x16_t; 4] {
    let (r, parts) = (Register16::new(), line.as_chunks::<16>().0);
    [r.load(&parts[0]), r.load(&parts[1]), r.load(&parts[2]), r.load(&parts[3])]
}

#[inline]
#[target_feature(enable = "neon")]
fn store(line: &mut Line, x: [uint8x16_t; 4]) {
    for (part, x) in line.as_chunks_mut::<16>().0.iter_mut().zip(x) {
        Register16::new().store(part, x);
    }
}

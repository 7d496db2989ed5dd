//! The sum of selected records, by 8 x 8 bit matrices times bytes (`vgf2p8affineqb` of GFNI): one
//! instruction multiplies a line of 64 bytes by the selections of eight queries.
//!
//! **In registers.** A *tile* is up to four lines of a block for up to six groups of queries: 24
//! sums in registers, which leaves registers for the eight lines of a turn. The products of two
//! blocks are added with one three-way exclusive or.
//!
//! **In memory.** Where a tile is a whole block for all groups, it reads all of memory in order.
//! Few groups read wider blocks in order as well, with their sums in a cache. Otherwise tiles take
//! turns on a few blocks, which the caches hold, and the first of them prefetches the next blocks:
//! so memory is read once however many queries there are.

use super::registers::{load, store};
use crate::simd::args::{SelectionMatrices, SelectionShare};
use crate::simd::generic::{prefetch, prefetch_second};
use crate::simd::shapes::SelectShape;
use core::arch::x86_64::*;

type Line = [u8; 64];

/// Lines in a tile.
const TILE: usize = 4;
/// Groups in a tile.
const GROUPS: usize = 6;
/// Lines of a block that are processed before those beyond. Their sums, for six groups, are 96 KiB.
const STRIP: usize = 256;
/// Lines on which tiles take turns, if eight blocks have no more.
const PART: usize = 256;
/// Number of bytes ahead that a tile prefetches where eight wide blocks are read in turn, each in
/// order.
const ALONG: usize = 1024;

#[target_feature(enable = "avx512f,avx512bw,gfni")]
pub(super) fn select(
    shape: &SelectShape,
    blocks: &[Line],
    queries: usize,
    selections: &[SelectionMatrices],
    sums: &mut [Line],
) {
    let groups = queries.div_ceil(8);
    let lines = sums.len() / groups;
    if lines <= TILE && groups <= GROUPS {
        let ahead = if groups <= 2 { shape.near } else { shape.far };
        let at = Place { lines, line: 0, groups, group: 0, first: 0, ahead, second: false };
        return shaped(blocks, at, lines, groups, selections, sums);
    }
    match groups {
        1 => return along::<1>(shape, blocks, lines, selections, sums),
        2 => return along::<2>(shape, blocks, lines, selections, sums),
        3 => return along::<3>(shape, blocks, lines, selections, sums),
        4 => return along::<4>(shape, blocks, lines, selections, sums),
        _ => (),
    }
    let depth = (PART / lines).next_power_of_two().clamp(8, 64);
    let ahead = if depth * lines <= PART { depth * lines * 64 } else { ALONG };
    for strip in (0..lines).step_by(STRIP) {
        let end = lines.min(strip + STRIP);
        for (run, selections) in blocks.chunks(64 * lines).zip(selections.chunks_exact(groups)) {
            for (part, first) in run.chunks(depth * lines).zip((0..64).step_by(depth)) {
                for line in (strip..end).step_by(TILE) {
                    for group in (0..groups).step_by(GROUPS) {
                        let ahead = if group == 0 { ahead } else { 0 };
                        let at = Place { lines, line, groups, group, first, ahead, second: shape.second };
                        shaped(part, at, TILE.min(end - line), GROUPS.min(groups - group), selections, sums);
                    }
                }
            }
        }
    }
}

/// The sums of a line for some groups, aligned to cache lines: a store across two of them takes
/// twice as long.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Near<const G: usize>([Line; G]);

/// Processes all blocks in the order of memory, as many lines of each as leave the sums of all
/// groups in a near cache; then the next lines of all blocks.
///
/// Nothing is loaded out of order, not even two blocks side by side: a processor that detects one
/// stream by itself does not detect two. On Zen 4 pairs of blocks took three times as long. Zen 5
/// needs prefetches: one query took 24 GB/s without them, and 36 with them.
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn along<const G: usize>(
    shape: &SelectShape,
    blocks: &[Line],
    lines: usize,
    selections: &[SelectionMatrices],
    sums: &mut [Line],
) {
    let strip = if G == 1 { shape.sums[0] } else { shape.sums[1] / G };
    let fetches = shape.near > 0;
    // Where blocks are processed in parts, the part of the next block.
    let ahead = if strip < lines {
        lines * 64
    } else if G <= 2 {
        shape.near
    } else {
        shape.far
    };
    let mut near = vec![Near([[0; 64]; G]); strip.min(lines)];
    for first in (0..lines).step_by(strip) {
        let near = &mut near[..strip.min(lines - first)];
        for (i, near) in near.iter_mut().enumerate() {
            near.0 = std::array::from_fn(|g| sums[g * lines + first + i]);
        }
        for (run, selections) in blocks.chunks(64 * lines).zip(selections.as_chunks::<G>().0) {
            for (k, block) in run.chunks_exact(lines).enumerate() {
                // Always below 64, which the compiler must see here.
                let matrices = selections.each_ref().map(|m| _mm512_set1_epi64(m[k & 63] as i64));
                for (near, line) in near.iter_mut().zip(&block[first..]) {
                    if fetches {
                        prefetch(line.as_ptr().wrapping_add(ahead));
                    }
                    let line = load(line);
                    for (sum, matrix) in near.0.iter_mut().zip(matrices) {
                        let x = _mm512_gf2p8affine_epi64_epi8::<0>(line, matrix);
                        store(sum, _mm512_xor_si512(load(sum), x));
                    }
                }
            }
        }
        for (i, near) in near.iter().enumerate() {
            near.0.iter().enumerate().for_each(|(g, sum)| sums[g * lines + first + i] = *sum);
        }
    }
}

/// The position of a tile.
#[derive(Clone, Copy)]
struct Place {
    /// Number of lines in a block.
    lines: usize,
    /// First line of the tile.
    line: usize,
    /// Number of groups of queries.
    groups: usize,
    /// First group of the tile.
    group: usize,
    /// First of the run's blocks.
    first: usize,
    /// Number of bytes ahead that the tile prefetches; 0 if another tile does.
    ahead: usize,
    /// Whether the tile prefetches into the second-level cache instead of the first.
    second: bool,
}

/// Runs one tile, with a loop of its own for every shape.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn shaped(
    blocks: &[Line],
    at: Place,
    width: usize,
    groups: usize,
    selections: &[SelectionMatrices],
    sums: &mut [Line],
) {
    match width {
        1 => wide::<1, 4>(blocks, at, groups, selections, sums),
        2 => wide::<2, 2>(blocks, at, groups, selections, sums),
        3 => wide::<3, 1>(blocks, at, groups, selections, sums),
        _ => wide::<TILE, 1>(blocks, at, groups, selections, sums),
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn wide<const T: usize, const P: usize>(
    blocks: &[Line],
    at: Place,
    groups: usize,
    selections: &[SelectionMatrices],
    sums: &mut [Line],
) {
    match groups {
        1 => tile::<T, P, 1>(blocks, at, selections, sums),
        2 => tile::<T, P, 2>(blocks, at, selections, sums),
        3 => tile::<T, P, 3>(blocks, at, selections, sums),
        4 => tile::<T, P, 4>(blocks, at, selections, sums),
        5 => tile::<T, P, 5>(blocks, at, selections, sums),
        _ => tile::<T, P, GROUPS>(blocks, at, selections, sums),
    }
}

/// Runs a tile of `T` lines of each block and `G` groups; `2 P` blocks in a turn.
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn tile<const T: usize, const P: usize, const G: usize>(
    blocks: &[Line],
    at: Place,
    selections: &[SelectionMatrices],
    sums: &mut [Line],
) {
    let mut acc = [[_mm512_setzero_si512(); T]; G];
    for (g, acc) in acc.iter_mut().enumerate() {
        for (acc, sum) in acc.iter_mut().zip(&sums[(at.group + g) * at.lines + at.line..]) {
            *acc = load(sum);
        }
    }
    for (run, selections) in blocks.chunks(64 * at.lines).zip(selections.chunks_exact(at.groups)) {
        let selections: &[SelectionMatrices; G] = &selections[at.group..].as_chunks::<G>().0[0];
        let turns = run.chunks_exact(2 * P * at.lines);
        let last = turns.remainder();
        let mut k = at.first;
        for turn in turns {
            // All loads first, in the order of memory: the processor prefetches best this way.
            let mut x = [[[_mm512_setzero_si512(); T]; 2]; P];
            if at.ahead > 0 {
                for b in 0..2 * P {
                    for t in 0..T {
                        let next = turn[b * at.lines + at.line + t].as_ptr().wrapping_add(at.ahead);
                        if at.second { prefetch_second(next) } else { prefetch(next) }
                    }
                }
            }
            for p in 0..P {
                for half in 0..2 {
                    let block: &[Line; T] =
                        &turn[(2 * p + half) * at.lines + at.line..].as_chunks::<T>().0[0];
                    for t in 0..T {
                        x[p][half][t] = load(&block[t]);
                    }
                }
            }
            for [a, b] in x {
                // Always below 64, which the compiler must see here.
                let even = k & 62;
                for t in 0..T {
                    for g in 0..G {
                        let (m, n) = (selections[g][even] as i64, selections[g][even + 1] as i64);
                        let x = _mm512_gf2p8affine_epi64_epi8::<0>(a[t], _mm512_set1_epi64(m));
                        let y = _mm512_gf2p8affine_epi64_epi8::<0>(b[t], _mm512_set1_epi64(n));
                        acc[g][t] = _mm512_ternarylogic_epi64::<0x96>(acc[g][t], x, y);
                    }
                }
                k += 2;
            }
        }
        for block in last.chunks_exact(at.lines) {
            let block: &[Line; T] = &block[at.line..].as_chunks::<T>().0[0];
            for t in 0..T {
                for g in 0..G {
                    let matrix = _mm512_set1_epi64(selections[g][k & 63] as i64);
                    let x = _mm512_gf2p8affine_epi64_epi8::<0>(load(&block[t]), matrix);
                    acc[g][t] = _mm512_xor_si512(acc[g][t], x);
                }
            }
            k += 1;
        }
    }
    for (g, acc) in acc.iter().enumerate() {
        for (acc, sum) in acc.iter().zip(&mut sums[(at.group + g) * at.lines + at.line..]) {
            store(sum, *acc);
        }
    }
}

/// Transposes 8 x 8 bytes in each of 64 positions: three rounds of interleaving, within quarters of
/// the registers, then the quarters are permuted.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn matrices(shares: &[SelectionShare<'_>], step: usize, out: &mut [SelectionMatrices]) {
    let words: [__m512i; 8] = std::array::from_fn(|i| match shares.get(7 - i) {
        Some(share) => load(share.word),
        None => _mm512_setzero_si512(),
    });
    for run in 0..shares[0].masks.len() {
        let mut x = [_mm512_setzero_si512(); 8];
        for i in 0..8 {
            if let Some(share) = shares.get(7 - i) {
                let mask = _mm512_set1_epi8(share.masks[run] as i8);
                // bytes ^ (mask & word)
                x[i] = _mm512_ternarylogic_epi64::<0x78>(load(&share.bytes[run]), mask, words[i]);
            }
        }
        let mut y = x;
        for i in 0..4 {
            y[2 * i] = _mm512_unpacklo_epi8(x[2 * i], x[2 * i + 1]);
            y[2 * i + 1] = _mm512_unpackhi_epi8(x[2 * i], x[2 * i + 1]);
        }
        // Words of two rows' bytes; of rows 0-3 in the first half, 4-7 in the second.
        for i in [0, 4] {
            x[i] = _mm512_unpacklo_epi16(y[i], y[i + 2]);
            x[i + 1] = _mm512_unpackhi_epi16(y[i], y[i + 2]);
            x[i + 2] = _mm512_unpacklo_epi16(y[i + 1], y[i + 3]);
            x[i + 3] = _mm512_unpackhi_epi16(y[i + 1], y[i + 3]);
        }
        for i in 0..4 {
            y[2 * i] = _mm512_unpacklo_epi32(x[i], x[i + 4]);
            y[2 * i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 4]);
        }
        // Quarter l of register j now holds positions 16 l + 2 j and 16 l + 2 j + 1.
        let out = out[run * step].as_chunks_mut::<8>().0;
        for half in 0..2 {
            let [a, b, c, d] = [y[4 * half], y[4 * half + 1], y[4 * half + 2], y[4 * half + 3]];
            let (ab, cd) = (_mm512_shuffle_i64x2::<0x44>(a, b), _mm512_shuffle_i64x2::<0x44>(c, d));
            let (ef, gh) = (_mm512_shuffle_i64x2::<0xEE>(a, b), _mm512_shuffle_i64x2::<0xEE>(c, d));
            store(&mut out[half], _mm512_shuffle_i64x2::<0x88>(ab, cd));
            store(&mut out[2 + half], _mm512_shuffle_i64x2::<0xDD>(ab, cd));
            store(&mut out[4 + half], _mm512_shuffle_i64x2::<0x88>(ef, gh));
            store(&mut out[6 + half], _mm512_shuffle_i64x2::<0xDD>(ef, gh));
        }
    }
}

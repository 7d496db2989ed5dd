//! The scan, by 16-bit pair products (`vpmaddwd`).
//!
//! The one byte product of AVX2, `vpmaddubsw`, saturates at 16 bits, and two products
//! of a signed byte and a full unsigned byte do not fit. So bytes are widened to 16
//! bits, where a pair of products is exact in 32. Each row then has two partial sums, of
//! columns 0 and 1 and of columns 2 and 3 of its groups, which meet when the block is done.
//!
//! Sixteen registers hold one tile at a time times two planes, so blocks small enough for
//! the first cache are gone through once per tile and pair of planes.

use super::lanes::{load, prefetch, store, widen};
use crate::matrix::layout::{GROUP_BYTES, PANEL_ROWS};
use crate::simd::Planes;
use core::arch::x86_64::*;

type Group = [u8; GROUP_BYTES];
type Sums = [i32; PANEL_ROWS];

/// Planes that share one widening of the matrix's bytes.
const WIDTH: usize = 2;
/// Groups in a block.
const BLOCK: usize = 64;

#[target_feature(enable = "avx2")]
pub(super) fn scan(groups: &[u8], queries: &[Planes<'_>], sums: &mut [i32]) {
    let groups = groups.as_chunks::<GROUP_BYTES>().0;
    let sums = sums.as_chunks_mut::<PANEL_ROWS>().0;
    for (i, block) in groups.chunks(BLOCK).enumerate() {
        let next = block.as_ptr_range().end.cast::<u8>();
        let mut fetched = false;
        let mut rest = &mut *sums;
        for query in queries {
            let dwords = &query.dwords[i * BLOCK * query.planes..][..block.len() * query.planes];
            for first in (0..query.planes).step_by(WIDTH) {
                let (mine, others) = rest.split_at_mut(WIDTH.min(query.planes - first));
                rest = others;
                for tile in 0..4 {
                    // The first pair of planes fetches the next block for all.
                    let fetch = (!fetched).then(|| next.wrapping_add(tile * 64));
                    match mine.len() {
                        1 => run::<1>(block, dwords, query.planes, first, tile, mine, fetch),
                        _ => run::<2>(block, dwords, query.planes, first, tile, mine, fetch),
                    }
                }
                fetched = true;
            }
        }
    }
}

#[target_feature(enable = "avx2")]
fn run<const K: usize>(
    groups: &[Group],
    dwords: &[u32],
    planes: usize,
    first: usize,
    tile: usize,
    sums: &mut [Sums],
    fetch: Option<*const u8>,
) {
    let mut acc = [[_mm256_setzero_si256(); 4]; K];
    for (g, (group, dwords)) in groups.iter().zip(dwords.chunks_exact(planes)).enumerate() {
        if let Some(fetch) = fetch {
            prefetch(fetch.wrapping_add(g * GROUP_BYTES));
        }
        let cells = group.as_chunks::<64>().0[tile].as_chunks::<16>().0;
        let cells: [__m256i; 4] = [widen(&cells[0]), widen(&cells[1]), widen(&cells[2]), widen(&cells[3])];
        let query: &[u32; K] = &dwords[first..].as_chunks::<K>().0[0];
        for k in 0..K {
            let q = _mm256_cvtepu8_epi16(_mm_set1_epi32(query[k] as i32));
            for c in 0..4 {
                acc[k][c] = _mm256_add_epi32(acc[k][c], _mm256_madd_epi16(cells[c], q));
            }
        }
    }
    for (sums, acc) in sums.iter_mut().zip(acc) {
        let rows = &mut sums.as_chunks_mut::<16>().0[tile];
        let [low, high] = [_mm256_hadd_epi32(acc[0], acc[1]), _mm256_hadd_epi32(acc[2], acc[3])];
        for (rows, pairs) in rows.as_chunks_mut::<8>().0.iter_mut().zip([low, high]) {
            // The horizontal sum works on each half of the register, which leaves rows in
            // the order 0 1, 4 5, 2 3, 6 7.
            let ordered = _mm256_permute4x64_epi64::<0b11_01_10_00>(pairs);
            store(rows, _mm256_add_epi32(load(rows), ordered));
        }
    }
}

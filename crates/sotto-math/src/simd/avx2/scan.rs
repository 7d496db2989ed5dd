//! The scan, by 16-bit pair products (`vpmaddwd`).
//!
//! The one byte product of AVX2, `vpmaddubsw`, saturates at 16 bits, and two products of a signed
//! byte and a full unsigned byte do not fit. So bytes are widened to 16 bits, where a pair of
//! products is exact in 32. Each row then has two partial sums, of columns 0 and 1 and of columns 2
//! and 3 of its groups, which are added when the block is done.
//!
//! Four planes of a query share the widening of 32 bytes, which is eight rows; so blocks small
//! enough for the first-level cache are read eight times. Query bytes are widened once per block.

use super::registers::{load, store, widen};
use crate::simd::args::{GROUP_BYTES, PANEL_ROWS, Planes};
use crate::simd::generic::prefetch;
use core::arch::x86_64::*;

type Group = [u8; GROUP_BYTES];
type Sums = [i32; PANEL_ROWS];

/// Planes that share one widening of the matrix's bytes.
const WIDTH: usize = 4;
/// Groups in a block: see the scan of the wider registers.
const BLOCK: usize = 48;
const MAX_PLANES: usize = 8;
/// Parts of a group, which are processed one after the other.
const PARTS: usize = GROUP_BYTES / 32;

/// Four query bytes as 16-bit numbers.
type Wide = u64;

#[target_feature(enable = "avx2")]
pub(super) fn scan(groups: &[u8], queries: &[Planes<'_>], sums: &mut [i32]) {
    let groups = groups.as_chunks::<GROUP_BYTES>().0;
    let sums = sums.as_chunks_mut::<PANEL_ROWS>().0;
    let mut wide = [0; BLOCK * MAX_PLANES];
    for (i, block) in groups.chunks(BLOCK).enumerate() {
        let next = block.as_ptr_range().end.cast::<u8>();
        let mut fetched = false;
        let mut rest = &mut *sums;
        for query in queries {
            let dwords = &query.dwords[i * BLOCK * query.planes..][..block.len() * query.planes];
            let wide = widen_query(dwords, &mut wide);
            for first in (0..query.planes).step_by(WIDTH) {
                let (mine, others) = rest.split_at_mut(WIDTH.min(query.planes - first));
                rest = others;
                for part in 0..PARTS {
                    // The first bundle of planes prefetches the next block for all, one line of
                    // each group in each of its first four parts.
                    let fetch = (!fetched && part < PARTS / 2).then(|| next.wrapping_add(part * 64));
                    match mine.len() {
                        1 => run::<1>(block, wide, query.planes, first, part, mine, fetch),
                        2 => run::<2>(block, wide, query.planes, first, part, mine, fetch),
                        3 => run::<3>(block, wide, query.planes, first, part, mine, fetch),
                        _ => run::<4>(block, wide, query.planes, first, part, mine, fetch),
                    }
                }
                fetched = true;
            }
        }
    }
}

/// Widens every query byte to 16 bits.
#[target_feature(enable = "avx2")]
fn widen_query<'a>(dwords: &[u32], wide: &'a mut [Wide]) -> &'a [Wide] {
    let wide = &mut wide[..dwords.len()];
    for (wide, dword) in wide.iter_mut().zip(dwords) {
        let [a, b, c, d] = dword.to_le_bytes().map(u64::from);
        *wide = a | b << 16 | c << 32 | d << 48;
    }
    wide
}

#[target_feature(enable = "avx2")]
fn run<const K: usize>(
    groups: &[Group],
    wide: &[Wide],
    planes: usize,
    first: usize,
    part: usize,
    sums: &mut [Sums],
    fetch: Option<*const u8>,
) {
    let mut acc = [[_mm256_setzero_si256(); 2]; K];
    for (g, (group, wide)) in groups.iter().zip(wide.chunks_exact(planes)).enumerate() {
        if let Some(fetch) = fetch {
            prefetch(fetch.wrapping_add(g * GROUP_BYTES));
        }
        let cells = group.as_chunks::<32>().0[part].as_chunks::<16>().0;
        let (low, high) = (widen(&cells[0]), widen(&cells[1]));
        let query: &[Wide; K] = &wide[first..].as_chunks::<K>().0[0];
        for k in 0..K {
            let q = _mm256_set1_epi64x(query[k] as i64);
            acc[k][0] = _mm256_add_epi32(acc[k][0], _mm256_madd_epi16(low, q));
            acc[k][1] = _mm256_add_epi32(acc[k][1], _mm256_madd_epi16(high, q));
        }
    }
    for (sums, [low, high]) in sums.iter_mut().zip(acc) {
        let rows = &mut sums.as_chunks_mut::<8>().0[part];
        // The horizontal sum works on each half of the register, which leaves rows in the order 0
        // 1, 4 5, 2 3, 6 7.
        let ordered = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_hadd_epi32(low, high));
        store(rows, _mm256_add_epi32(load(rows), ordered));
    }
}

//! The scan by four-byte products in 32-byte registers (`vpdpbusd` of AVX-VNNI).
//!
//! Processors without AVX-512 but with this one instruction are common among laptops. The
//! order of work is that of the wider registers, with blocks gone through once per tile:
//! two registers of rows times four planes are the eight sums that hide the latency.

use super::lanes::{load, store};
use crate::matrix::layout::{GROUP_BYTES, PANEL_ROWS};
use crate::simd::Planes;
use crate::simd::generic::prefetch;
use core::arch::x86_64::*;

type Group = [u8; GROUP_BYTES];
type Sums = [i32; PANEL_ROWS];

/// Planes that share one load of the matrix's bytes.
const WIDTH: usize = 4;
/// Groups in a block: see the scan of the wider registers.
const BLOCK: usize = 48;
const TILES: usize = GROUP_BYTES / 64;

#[target_feature(enable = "avx2,avxvnni")]
pub(super) fn scan(groups: &[u8], queries: &[Planes<'_>], sums: &mut [i32]) {
    let groups = groups.as_chunks::<GROUP_BYTES>().0;
    let sums = sums.as_chunks_mut::<PANEL_ROWS>().0;
    for (i, block) in groups.chunks(BLOCK).enumerate() {
        let next = block.as_ptr_range().end.cast::<u8>();
        let mut fetched = false;
        let mut rest = &mut *sums;
        for query in queries {
            let dwords = &query.dwords[i * BLOCK * query.planes..][..block.len() * query.planes];
            let width = query.planes.div_ceil(query.planes.div_ceil(WIDTH));
            for first in (0..query.planes).step_by(width) {
                let (mine, others) = rest.split_at_mut(width.min(query.planes - first));
                rest = others;
                for tile in 0..TILES {
                    // The first bundle of planes fetches the next block for all.
                    let fetch = (!fetched).then(|| next.wrapping_add(tile * 64));
                    match mine.len() {
                        1 => run::<1>(block, dwords, query.planes, first, tile, mine, fetch),
                        2 => run::<2>(block, dwords, query.planes, first, tile, mine, fetch),
                        3 => run::<3>(block, dwords, query.planes, first, tile, mine, fetch),
                        _ => run::<4>(block, dwords, query.planes, first, tile, mine, fetch),
                    }
                }
                fetched = true;
            }
        }
    }
}

#[target_feature(enable = "avx2,avxvnni")]
fn run<const K: usize>(
    groups: &[Group],
    dwords: &[u32],
    planes: usize,
    first: usize,
    tile: usize,
    sums: &mut [Sums],
    fetch: Option<*const u8>,
) {
    let mut acc = [[_mm256_setzero_si256(); 2]; K];
    for (g, (group, dwords)) in groups.iter().zip(dwords.chunks_exact(planes)).enumerate() {
        if let Some(fetch) = fetch {
            prefetch(fetch.wrapping_add(g * GROUP_BYTES));
        }
        let rows = group.as_chunks::<64>().0[tile].as_chunks::<32>().0;
        let (low, high) = (load(&rows[0]), load(&rows[1]));
        let query: &[u32; K] = &dwords[first..].as_chunks::<K>().0[0];
        for k in 0..K {
            let q = _mm256_set1_epi32(query[k] as i32);
            acc[k][0] = _mm256_dpbusd_avx_epi32(acc[k][0], q, low);
            acc[k][1] = _mm256_dpbusd_avx_epi32(acc[k][1], q, high);
        }
    }
    for (sums, acc) in sums.iter_mut().zip(acc) {
        let tile = &mut sums.as_chunks_mut::<16>().0[tile];
        for (sums, acc) in tile.as_chunks_mut::<8>().0.iter_mut().zip(acc) {
            store(sums, _mm256_add_epi32(load(sums), acc));
        }
    }
}

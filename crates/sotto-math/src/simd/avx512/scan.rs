//! The scan, by four-byte products (`vpdpbusd`): one instruction multiplies the 64 bytes
//! of a tile by four query bytes and adds the products to 16 row sums.
//!
//! **In registers.** A *bundle* is up to four planes of one query. Four tiles times four
//! planes are 16 sums, independent of each other, which is enough to hide the latency of the
//! product and leaves half of the registers for tiles and query bytes.
//!
//! **In memory.** One bundle streams through the panel and stays ahead of itself with
//! prefetches. Several bundles, of one query or of many, take turns on blocks small
//! enough for the first cache, and while one block is worked on the next is fetched, a
//! share by each bundle: so memory is read once however many queries there are, and is
//! busy all the time.

use super::lanes::{load, store};
use crate::matrix::layout::{GROUP_BYTES, PANEL_ROWS};
use crate::simd::Planes;
use crate::simd::generic::prefetch;
use core::arch::x86_64::*;

type Group = [u8; GROUP_BYTES];
type Sums = [i32; PANEL_ROWS];

/// Planes in a bundle.
const WIDTH: usize = 4;
/// Groups in a block: 12 KiB of matrix, so that this block, the next one and their share of the
/// queries fit the first cache.
const BLOCK: usize = 48;
/// How many bytes beyond the end of a block the fetching of the next begins.
///
/// Why the distance between what is fetched and what is read should be five lines more than
/// a multiple of 16 lines we cannot say. Measured on Zen 5 it matters in either place: for
/// two queries 91 % of a plain read against 85 to 88 %, for one 93 % against 80 to 90 %.
const SKEW: usize = 5 * 64;
/// How many bytes ahead a lone bundle fetches.
const AHEAD: usize = 96 * 64 + SKEW;
const LINES: usize = GROUP_BYTES / 64;

/// What is fetched while a bundle works: so many lines for each group.
#[derive(Clone, Copy)]
struct Fetch {
    from: *const u8,
    lines: usize,
}

#[target_feature(enable = "avx512f,avx512vnni")]
pub(super) fn scan(groups: &[u8], queries: &[Planes<'_>], sums: &mut [i32]) {
    let groups = groups.as_chunks::<GROUP_BYTES>().0;
    let sums = sums.as_chunks_mut::<PANEL_ROWS>().0;
    if let [query] = queries
        && query.planes <= WIDTH
    {
        let fetch = Fetch { from: groups.as_ptr().cast::<u8>().wrapping_add(AHEAD), lines: LINES };
        return bundle(groups, query.dwords, query.planes, 0, sums, fetch);
    }
    let bundles: usize = queries.iter().map(|q| q.planes.div_ceil(WIDTH)).sum();
    let share = LINES.div_ceil(bundles.max(1)).next_power_of_two();
    for (i, block) in groups.chunks(BLOCK).enumerate() {
        let next = block.as_ptr_range().end.cast::<u8>().wrapping_add(SKEW);
        let (mut done, mut rest) = (0, &mut *sums);
        for query in queries {
            let dwords = &query.dwords[i * BLOCK * query.planes..][..block.len() * query.planes];
            // Bundles of equal width: five planes are three and two, not four and one.
            let width = query.planes.div_ceil(query.planes.div_ceil(WIDTH));
            for first in (0..query.planes).step_by(width) {
                let (mine, others) = rest.split_at_mut(width.min(query.planes - first));
                rest = others;
                let lines = share.min(LINES - done.min(LINES));
                let fetch = Fetch { from: next.wrapping_add(done * 64 * block.len()), lines };
                bundle(block, dwords, query.planes, first, mine, fetch);
                done += lines;
            }
        }
    }
}

/// Adds one bundle's products, with every shape a loop of its own.
#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
fn bundle(groups: &[Group], dwords: &[u32], planes: usize, first: usize, sums: &mut [Sums], fetch: Fetch) {
    match sums.len() {
        1 => shaped::<1>(groups, dwords, planes, first, sums, fetch),
        2 => shaped::<2>(groups, dwords, planes, first, sums, fetch),
        3 => shaped::<3>(groups, dwords, planes, first, sums, fetch),
        _ => shaped::<4>(groups, dwords, planes, first, sums, fetch),
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
fn shaped<const K: usize>(
    groups: &[Group],
    dwords: &[u32],
    planes: usize,
    first: usize,
    sums: &mut [Sums],
    fetch: Fetch,
) {
    match fetch.lines {
        0 => run::<K, 0>(groups, dwords, planes, first, sums, fetch.from),
        1 => run::<K, 1>(groups, dwords, planes, first, sums, fetch.from),
        2 => run::<K, 2>(groups, dwords, planes, first, sums, fetch.from),
        _ => run::<K, 4>(groups, dwords, planes, first, sums, fetch.from),
    }
}

#[target_feature(enable = "avx512f,avx512vnni")]
fn run<const K: usize, const FETCH: usize>(
    groups: &[Group],
    dwords: &[u32],
    planes: usize,
    first: usize,
    sums: &mut [Sums],
    fetch: *const u8,
) {
    let mut acc = [[_mm512_setzero_si512(); 4]; K];
    for (g, (group, dwords)) in groups.iter().zip(dwords.chunks_exact(planes)).enumerate() {
        for line in 0..FETCH {
            prefetch(fetch.wrapping_add((g * FETCH + line) * 64));
        }
        let tiles = group.as_chunks::<64>().0;
        let tiles: [__m512i; 4] = [load(&tiles[0]), load(&tiles[1]), load(&tiles[2]), load(&tiles[3])];
        let query: &[u32; K] = &dwords[first..].as_chunks::<K>().0[0];
        for k in 0..K {
            let q = _mm512_set1_epi32(query[k] as i32);
            for t in 0..4 {
                acc[k][t] = _mm512_dpbusd_epi32(acc[k][t], q, tiles[t]);
            }
        }
    }
    for (sums, acc) in sums.iter_mut().zip(acc) {
        for (sums, acc) in sums.as_chunks_mut::<16>().0.iter_mut().zip(acc) {
            store(sums, _mm512_add_epi32(load(sums), acc));
        }
    }
}

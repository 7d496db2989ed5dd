//! The scan, by four-byte products (`vpdpbusd`): one instruction multiplies the 64 bytes of a tile
//! by four query bytes and adds the products to 16 row sums.
//!
//! **In registers.** A *bundle* is some planes of a query, or all planes of two. Its sums have
//! registers of their own: up to seven planes by the four tiles of a group, eight by two of them.
//! From five planes on there are no registers left for query bytes that are needed four times; they
//! are loaded each time, which the processor does in parallel with the products.
//!
//! **In memory.** One bundle streams through the panel. Several bundles, or the two halves of a
//! bundle of eight planes, take turns on blocks small enough for the first-level cache, and while
//! one block is processed the next is prefetched, a share in each turn: so memory is read once
//! however many queries there are, and is busy all the time. The machine determines whether a lone
//! bundle prefetches for itself, and how wide bundles are: see [`shapes`](crate::simd::shapes).

use super::registers::{add_products, load, store};
use crate::simd::args::{GROUP_BYTES, PANEL_ROWS, Planes};
use crate::simd::generic::prefetch;
use crate::simd::shapes::ScanShape;
use core::arch::x86_64::*;

type Group = [u8; GROUP_BYTES];
type Sums = [i32; PANEL_ROWS];

/// Tiles of a group, each a line of memory.
const TILES: usize = GROUP_BYTES / 64;
/// Largest number of planes of which a bundle has sums for all tiles of a group at once.
const WHOLE: usize = 7;

#[target_feature(enable = "avx512f,avx512vnni")]
pub(super) fn scan(shape: &ScanShape, groups: &[u8], queries: &[Planes<'_>], sums: &mut [i32]) {
    let groups = groups.as_chunks::<GROUP_BYTES>().0;
    let sums = sums.as_chunks_mut::<PANEL_ROWS>().0;
    // Two turns of one bundle keep up with memory; two turns of many bundles are slower than one
    // turn each.
    let planes: usize = queries.iter().map(|q| q.planes).sum();
    let [lone, several] = shape.planes;
    let widest = if queries.len() == 1 { lone } else { several };
    let widest = if planes > 8 { widest.min(WHOLE) } else { widest };
    let bundles = || Bundles { left: queries, first: 0, widest };
    let (count, turns) = bundles().fold((0, 0), |(count, turns), bundle| (count + 1, turns + bundle.turns()));
    if let (1, 1, Some(bundle)) = (count, turns, bundles().next()) {
        let [few, four, many] = shape.ahead;
        let ahead = match bundle.planes() {
            ..4 => few,
            4 => four,
            _ => many,
        };
        let from = groups.as_ptr().cast::<u8>().wrapping_add(ahead);
        let lines = if ahead == 0 { 0 } else { TILES };
        return bundle.work(groups, 0, sums, Fetch { from, lines });
    }
    // The share of one turn, so that all turns together prefetch a whole block.
    let share = TILES.div_ceil(turns.max(1)).next_power_of_two();
    let skew = if turns > count { 0 } else { shape.skew };
    for (i, block) in groups.chunks(shape.block).enumerate() {
        let mut fetch =
            Fetch { from: block.as_ptr_range().end.cast::<u8>().wrapping_add(skew), lines: share };
        let (mut left, mut rest) = (TILES, &mut *sums);
        for bundle in bundles() {
            let (mine, others) = rest.split_at_mut(bundle.planes());
            rest = others;
            fetch.lines = share.min(left / bundle.turns());
            bundle.work(block, i * shape.block, mine, fetch);
            let lines = fetch.lines * bundle.turns();
            left -= lines;
            fetch.from = fetch.from.wrapping_add(lines * 64 * block.len());
        }
    }
}

/// Prefetches of a bundle's turns: a number of lines for each group, in each turn.
#[derive(Clone, Copy)]
struct Fetch {
    from: *const u8,
    lines: usize,
}

/// Iterator that splits queries into bundles.
struct Bundles<'a> {
    left: &'a [Planes<'a>],
    /// First plane of the next query that has no bundle yet.
    first: usize,
    widest: usize,
}

/// Planes `first .. first + width` of one query, or all planes of two.
#[derive(Clone, Copy)]
struct Bundle<'a> {
    queries: &'a [Planes<'a>],
    first: usize,
    width: usize,
}

impl<'a> Iterator for Bundles<'a> {
    type Item = Bundle<'a>;

    fn next(&mut self) -> Option<Bundle<'a>> {
        let planes = self.left.first()?.planes;
        if let [a, b, ..] = self.left
            && a.planes == b.planes
            && 2 * planes <= self.widest
        {
            let (queries, left) = self.left.split_at(2);
            self.left = left;
            return Some(Bundle { queries, first: 0, width: planes });
        }
        // Bundles of equal width: five planes in bundles of four are three and two.
        let width = planes.div_ceil(planes.div_ceil(self.widest)).min(planes - self.first);
        let (queries, left) = self.left.split_at(1);
        let bundle = Bundle { queries, first: self.first, width };
        self.first += width;
        if self.first == planes {
            (self.left, self.first) = (left, 0);
        }
        Some(bundle)
    }
}

impl Bundle<'_> {
    /// Number of planes of all queries of the bundle.
    fn planes(&self) -> usize {
        self.queries.len() * self.width
    }

    /// Number of turns in which the bundle passes a block.
    fn turns(&self) -> usize {
        if self.planes() > WHOLE { 2 } else { 1 }
    }

    /// Adds the bundle's products with some groups, of which the first is the panel's group
    /// `start`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vnni")]
    fn work(&self, groups: &[Group], start: usize, sums: &mut [Sums], fetch: Fetch) {
        match (self.queries, self.width) {
            ([a], 1) => self.shaped::<1, 1>([a], groups, start, sums, fetch),
            ([a], 2) => self.shaped::<1, 2>([a], groups, start, sums, fetch),
            ([a], 3) => self.shaped::<1, 3>([a], groups, start, sums, fetch),
            ([a], 4) => self.shaped::<1, 4>([a], groups, start, sums, fetch),
            ([a], 5) => self.shaped::<1, 5>([a], groups, start, sums, fetch),
            ([a], 6) => self.shaped::<1, 6>([a], groups, start, sums, fetch),
            ([a], 7) => self.shaped::<1, 7>([a], groups, start, sums, fetch),
            ([a], _) => self.shaped::<1, 8>([a], groups, start, sums, fetch),
            ([a, b], 1) => self.shaped::<2, 1>([a, b], groups, start, sums, fetch),
            ([a, b], 2) => self.shaped::<2, 2>([a, b], groups, start, sums, fetch),
            ([a, b], 3) => self.shaped::<2, 3>([a, b], groups, start, sums, fetch),
            ([a, b], _) => self.shaped::<2, 4>([a, b], groups, start, sums, fetch),
            _ => (),
        }
    }

    /// Runs one or two turns, with a loop of its own for every shape.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vnni")]
    fn shaped<const Q: usize, const K: usize>(
        &self,
        queries: [&Planes<'_>; Q],
        groups: &[Group],
        start: usize,
        sums: &mut [Sums],
        fetch: Fetch,
    ) {
        let dwords = queries.map(|q| &q.dwords[start * q.planes..(start + groups.len()) * q.planes]);
        let turn = Turn { groups, dwords, planes: queries[0].planes, first: self.first };
        if const { Q * K > WHOLE } {
            let next = fetch.from.wrapping_add(fetch.lines * 64 * groups.len());
            match fetch.lines {
                0 => {
                    turn.run::<K, 0, 2, 0>(sums, fetch.from);
                    turn.run::<K, 2, 2, 0>(sums, next);
                }
                1 => {
                    turn.run::<K, 0, 2, 1>(sums, fetch.from);
                    turn.run::<K, 2, 2, 1>(sums, next);
                }
                _ => {
                    turn.run::<K, 0, 2, 2>(sums, fetch.from);
                    turn.run::<K, 2, 2, 2>(sums, next);
                }
            }
            return;
        }
        match fetch.lines {
            0 => turn.run::<K, 0, TILES, 0>(sums, fetch.from),
            1 => turn.run::<K, 0, TILES, 1>(sums, fetch.from),
            2 => turn.run::<K, 0, TILES, 2>(sums, fetch.from),
            _ => turn.run::<K, 0, TILES, 4>(sums, fetch.from),
        }
    }
}

/// One pass through some groups, for `Q` queries.
struct Turn<'a, const Q: usize> {
    groups: &'a [Group],
    /// Query words for these groups.
    dwords: [&'a [u32]; Q],
    planes: usize,
    first: usize,
}

impl<const Q: usize> Turn<'_, Q> {
    /// Adds the products of `K` planes with the `T` tiles of each group from `AT` on, and
    /// prefetches `FETCH` lines for each group.
    #[target_feature(enable = "avx512f,avx512vnni")]
    fn run<const K: usize, const AT: usize, const T: usize, const FETCH: usize>(
        &self,
        sums: &mut [Sums],
        fetch: *const u8,
    ) {
        let mut acc = [[[_mm512_setzero_si512(); T]; K]; Q];
        let mut dwords = self.dwords.map(|dwords| dwords.chunks_exact(self.planes));
        for (g, group) in self.groups.iter().enumerate() {
            for line in 0..FETCH {
                prefetch(fetch.wrapping_add((g * FETCH + line) * 64));
            }
            let tiles: &[[u8; 64]; T] = &group.as_chunks::<64>().0[AT..].as_chunks().0[0];
            let query: [&[u32; K]; Q] = dwords.each_mut().map(|dwords| {
                let planes = dwords.next().unwrap_or_default();
                &planes[self.first..].as_chunks::<K>().0[0]
            });
            if const { Q * K * T <= 16 } {
                let tiles = tiles.each_ref().map(|tile| load(tile));
                for (acc, query) in acc.iter_mut().zip(query) {
                    for (acc, dword) in acc.iter_mut().zip(query) {
                        let dword = _mm512_set1_epi32(*dword as i32);
                        for t in 0..T {
                            acc[t] = _mm512_dpbusd_epi32(acc[t], dword, tiles[t]);
                        }
                    }
                }
            } else {
                for t in 0..T {
                    let tile = load(&tiles[t]);
                    for (acc, query) in acc.iter_mut().zip(query) {
                        for (acc, dword) in acc.iter_mut().zip(query) {
                            acc[t] = add_products(acc[t], dword, tile);
                        }
                    }
                }
            }
        }
        for (sums, acc) in sums.iter_mut().zip(acc.as_flattened()) {
            for (sums, acc) in sums.as_chunks_mut::<16>().0[AT..].iter_mut().zip(acc) {
                store(sums, _mm512_add_epi32(load(sums), *acc));
            }
        }
    }
}

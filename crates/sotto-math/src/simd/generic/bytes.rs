//! The scan by four-byte products in registers of 32 bytes.
//!
//! Blocks are read once per tile: two registers of rows times four planes are the eight sums that
//! hide the latency. Where the instruction multiplies unsigned bytes only, 128 is added to each
//! byte of the matrix by flipping its first bit. What that adds to the sums of a plane is the same
//! for every row, and is counted separately.

use super::{Register, prefetch};
use crate::simd::args::{GROUP_BYTES, PANEL_ROWS, Planes};

type Group = [u8; GROUP_BYTES];
type Sums = [i32; PANEL_ROWS];

/// Planes that share one load of the matrix's bytes.
const WIDTH: usize = 4;
/// Groups in a block: see the scan of the wider registers.
const BLOCK: usize = 48;
const TILES: usize = GROUP_BYTES / 64;

/// Registers of 32 bytes that multiply bytes.
pub(in crate::simd) trait Bytes: Register {
    /// Up to four words of a query.
    type Query: Copy;
    /// Sums of eight rows.
    type Sums: Copy;
    /// Correction for what flipped bits add to sums.
    type Along: Copy;

    /// Loads words of a query.
    fn query<const K: usize>(self, words: &[u32; K]) -> Self::Query;

    /// Makes zero sums and a zero correction.
    fn no_sums(self) -> (Self::Sums, Self::Along);

    /// Converts bytes of the matrix to the form of the products.
    fn rows(self, x: Self::Value) -> Self::Value;

    /// Adds the products with word `k` of a query, a compile-time constant, four to each sum.
    fn add_bytes(self, sums: Self::Sums, rows: Self::Value, query: Self::Query, k: usize) -> Self::Sums;

    /// Adds a query to the correction.
    fn count(self, along: Self::Along, query: Self::Query) -> Self::Along;

    /// Subtracts the correction from the sums.
    fn total(self, sums: Self::Sums, along: Self::Along, k: usize) -> Self::Value;

    /// Adds 32-bit lanes.
    fn add_sums(self, a: Self::Value, b: Self::Value) -> Self::Value;
}

#[inline(always)]
pub(in crate::simd) fn scan<R: Bytes>(r: R, groups: &[u8], queries: &[Planes<'_>], sums: &mut [i32]) {
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
                    // The first bundle of planes prefetches the next block for all.
                    let fetch = (!fetched).then(|| next.wrapping_add(tile * 64));
                    let bundle = Bundle { groups: block, dwords, planes: query.planes, first, tile, fetch };
                    match mine.len() {
                        1 => bundle.run::<_, 1>(r, mine),
                        2 => bundle.run::<_, 2>(r, mine),
                        3 => bundle.run::<_, 3>(r, mine),
                        _ => bundle.run::<_, 4>(r, mine),
                    }
                }
                fetched = true;
            }
        }
    }
}

/// One tile of a block, and a query's planes from the first one on.
struct Bundle<'a> {
    groups: &'a [Group],
    dwords: &'a [u32],
    planes: usize,
    first: usize,
    tile: usize,
    fetch: Option<*const u8>,
}

impl Bundle<'_> {
    #[inline(always)]
    fn run<R: Bytes, const K: usize>(&self, r: R, sums: &mut [Sums]) {
        let (none, mut along) = r.no_sums();
        let mut acc = [[none; 2]; K];
        for (g, (group, dwords)) in self.groups.iter().zip(self.dwords.chunks_exact(self.planes)).enumerate()
        {
            if let Some(fetch) = self.fetch {
                prefetch(fetch.wrapping_add(g * GROUP_BYTES));
            }
            let rows = group.as_chunks::<64>().0[self.tile].as_chunks::<32>().0;
            let [low, high] = [r.rows(r.load(&rows[0])), r.rows(r.load(&rows[1]))];
            let query = r.query::<K>(&dwords[self.first..].as_chunks::<K>().0[0]);
            along = r.count(along, query);
            #[expect(
                clippy::needless_range_loop,
                reason = "compilers know the numbers of a range, and so the lanes"
            )]
            for k in 0..K {
                acc[k] = [r.add_bytes(acc[k][0], low, query, k), r.add_bytes(acc[k][1], high, query, k)];
            }
        }
        for (k, (sums, acc)) in sums.iter_mut().zip(acc).enumerate() {
            let tile = &mut sums.as_chunks_mut::<16>().0[self.tile];
            for (sums, acc) in tile.as_chunks_mut::<8>().0.iter_mut().zip(acc) {
                let total = r.add_sums(r.load(sums), r.total(acc, along, k));
                r.store(sums, total);
            }
        }
    }
}

//! Digits for packing: written beside the matrix, and passed over with the keys of many queries.
//!
//! ```text
//! digits | a table of tiles: a row for each digit of each switch, a column for each group of 2048 numbers of a record
//! masks  | for each group the packed ciphertext's mask, `mask_bits` a coefficient, in whole bytes
//! ```

use crate::lattice::{self, N, digit_bytes, mask_bytes};
use crate::matrix::Place;
use crate::samples::{self, Samples};
use crate::vector::Bits;
use rayon::prelude::*;
use sotto_core::{Misuse, Result, Section, Sink};
use sotto_lattice::encrypt::restore;
use sotto_lattice::inspiring::{Descent, Inspiring};
use sotto_lattice::ring::Level;
use sotto_math::basis::round_to_bits;
use sotto_math::bits;
use sotto_math::matrix::PanelLayout;
use sotto_math::tiles::{Strip, TileLayout, Turned, gather, scan_turned};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where digits and masks lie, and what packs with them.
pub struct Packed {
    packing: Inspiring,
    layout: TileLayout,
    groups: usize,
    bits: Bits,
}

/// Groups whose digits share lines of the image, and are made together.
const TOGETHER: usize = TileLayout::GROUP_COLS;

impl Packed {
    /// For records of so many groups.
    ///
    /// # Errors
    /// [`Misuse::Rule`] for more than can be laid out.
    pub fn new(groups: usize, bits: Bits) -> Result<Self> {
        let packing = lattice::packing()?;
        let layout =
            packing.layout(groups).ok_or(Misuse::Rule("digits of checked parameters can be laid out"))?;
        Ok(Packed { packing, layout, groups, bits })
    }

    /// Bytes in an image.
    pub fn bytes(&self) -> u64 {
        digit_bytes(self.groups as u64, self.bits.mask)
    }

    /// Groups that are written together with any of these, each once.
    pub fn together(&self, groups: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
        let mut firsts: Vec<usize> = groups.map(|group| group / TOGETHER * TOGETHER).collect();
        firsts.sort_unstable();
        firsts.dedup();
        firsts.into_iter().map(|first| first..self.groups.min(first + TOGETHER)).collect()
    }

    /// Writes the digits and masks of some groups of a matrix that is written already, right behind it.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_all(
        &self,
        layout: PanelLayout,
        matrix: impl Into<Place>,
        groups: Vec<Range<usize>>,
        out: &dyn Sink,
    ) -> Result<()> {
        let (samples, Place { section, start }) = (Samples::new(layout)?, matrix.into());
        let steps = groups.iter().map(|groups| groups.len() * samples::STEPS + self.steps());
        let (done, total) = (AtomicU64::new(0), steps.sum::<usize>() as u64);
        let step = || out.progress("digits", done.fetch_add(1, Ordering::Relaxed) + 1, total);
        out.progress("digits", 0, total);
        for groups in groups {
            let read = |at, bytes: &mut [u8]| out.read_at(section, start + at, bytes);
            let of_group = |group| samples.of_group(group, read, step);
            self.write(groups, of_group, step, (out, section, start + layout.bytes() as u64))?;
        }
        Ok(())
    }

    /// Steps of writing groups together, besides those of their samples.
    pub fn steps(&self) -> usize {
        self.layout.rows().div_ceil(TileLayout::TILE_ROWS)
    }

    /// Writes the digits and masks of groups that are written [`together`](Self::together), from `start` of a section on.
    /// `samples` makes the masks of a group's numbers, and `step` hears of [`steps`](Self::steps) steps. Memory is 64 MiB for
    /// each of these groups.
    ///
    /// # Errors
    /// Those of `samples`; storage errors.
    pub fn write(
        &self,
        groups: Range<usize>,
        samples: impl Fn(usize) -> Result<Vec<u64>> + Sync,
        step: impl Fn(),
        (out, section, start): (&dyn Sink, Section, u64),
    ) -> Result<()> {
        let (layout, digits) = (&self.layout, self.packing.digits());
        let descents = groups.clone().into_par_iter();
        let mut descents: Vec<Descent<'_>> =
            descents.map(|group| Ok(Descent::new(&self.packing, &samples(group)?))).collect::<Result<_>>()?;
        let mut bytes = Vec::new();
        for first in (0..layout.rows()).step_by(TileLayout::TILE_ROWS) {
            let rows = first..layout.rows().min(first + TileLayout::TILE_ROWS);
            let strip = Strip { rows: rows.clone(), cols: groups.clone() };
            let made: Vec<Vec<u64>> = descents
                .par_iter_mut()
                .map(|descent| {
                    let mut made = vec![0; rows.len() * N];
                    made.chunks_exact_mut(digits * N).for_each(|digits| {
                        descent.next(digits);
                    });
                    made
                })
                .collect();
            bytes.clear();
            bytes.resize(strip.block_bytes(layout) * layout.blocks(), 0);
            let polynomials = made.iter().zip(groups.clone()).flat_map(|(made, col)| {
                made.chunks_exact(N).zip(rows.clone()).map(move |(digit, row)| ((row, col), digit))
            });
            strip.put(layout, &polynomials.collect::<Vec<_>>(), &mut bytes);
            for (block, bytes) in bytes.chunks_exact(strip.block_bytes(layout)).enumerate() {
                out.write_at(section, start + strip.offset(layout, block), bytes)?;
            }
            step();
        }
        for (descent, group) in descents.into_iter().zip(groups) {
            let mut mask = descent.finish();
            let ring = self.packing.ring();
            ring.inverse(Level::Main, &mut mask);
            let (mut rounded, mut packed) = (vec![0; N], Vec::new());
            round_to_bits(ring.q(), &mask, self.bits.mask, &mut rounded);
            bits::pack_words(&rounded, self.bits.mask, &mut packed);
            out.write_at(
                section,
                start + layout.bytes() + group as u64 * mask_bytes(self.bits.mask),
                &packed,
            )?;
        }
        Ok(())
    }

    /// A client's keys, as the pass takes them; `None` if they are none.
    pub fn keys(&self, keys: &[Vec<u128>]) -> Option<Turned> {
        let ring = self.packing.ring();
        let bodies: Option<Vec<Vec<u64>>> =
            keys.iter().map(|body| restore(ring, Level::Main, body, self.bits.keys)).collect();
        bodies
            .filter(|bodies| bodies.len() == 2 * self.packing.digits())
            .map(|bodies| self.packing.keys(&bodies))
    }

    /// Packs the products of many queries: one pass over the digits, of which threads of the current pool take stretches.
    /// For each query and group, mask and body of the packed ciphertext, in the bits that are sent.
    ///
    /// # Panics
    /// If `image` is not [`bytes`](Self::bytes) long, or there is not a number of N products for each group and query.
    pub fn pack(&self, image: &[u8], keys: &[&Turned], products: &[Vec<u64>]) -> Vec<Vec<[Vec<u64>; 2]>> {
        let layout = &self.layout;
        let (digits, masks) = image.split_at(layout.bytes() as usize);
        let words = N * self.groups;
        let stretch = layout.blocks().div_ceil(rayon::current_num_threads()).max(1);
        let parts: Vec<Vec<Vec<u64>>> = digits
            .par_chunks(stretch * layout.block_bytes())
            .enumerate()
            .map(|(i, part)| {
                let blocks = i * stretch..(i * stretch + part.len() / layout.block_bytes());
                let mut sums = vec![vec![0; blocks.len() * layout.cols() * 8]; keys.len()];
                let mut views: Vec<&mut [u64]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
                let what = (layout, self.packing.turns());
                scan_turned(self.packing.words(), what, part, blocks, keys, &mut views);
                sums
            })
            .collect();
        let of_query = |(i, products): (usize, &Vec<u64>)| {
            assert_eq!(products.len(), words, "a number of each group");
            let sums: Vec<u64> = parts.iter().filter_map(|part| part.get(i)).flatten().copied().collect();
            let groups =
                products.chunks_exact(N).zip(masks.chunks_exact(mask_bytes(self.bits.mask) as usize));
            let packed = groups.enumerate().map(|(group, (products, mask))| {
                let mut sum = vec![0; N];
                gather(self.packing.words(), layout, 1, &sums, group..group + 1, &mut [&mut sum]);
                let body = self.packing.body(products, &sum);
                let mut rounded = vec![0; N];
                round_to_bits(self.packing.ring().q(), &body, self.bits.body, &mut rounded);
                // Bytes of a damaged image are no words, and then no answer is right.
                let mask = bits::unpack_words(mask, self.bits.mask, N).unwrap_or_else(|| vec![0; N]);
                [mask, rounded]
            });
            packed.collect()
        };
        products.par_iter().enumerate().map(of_query).collect()
    }

    /// The products of a record's numbers, modulo q: of each of its bytes there are the sums of all planes of a query's words.
    pub fn products(&self, sums: &[i64], planes: usize) -> Vec<u64> {
        let (q, dropped) = (self.packing.ring().q(), self.bits.dropped());
        let byte = |sums: &[i64]| sums.iter().rev().fold(0i128, |x, sum| (x << 8) + i128::from(*sum));
        let number = |[low, high]: [i128; 2]| {
            // Below 2^(50 + 8 + 16 + 20) in absolute value.
            let x = (low + (high << 8)) << dropped;
            q.reduce_u128((x + (i128::from(q.value()) << 64)) as u128)
        };
        let numbers = sums.chunks(2 * planes).map(|pair| {
            let (low, high) = pair.split_at(planes.min(pair.len()));
            number([byte(low), byte(high)])
        });
        let mut numbers: Vec<u64> = numbers.take(N * self.groups).collect();
        numbers.resize(N * self.groups, 0);
        numbers
    }
}

//! The masks of products. For each number of a record, this is the polynomial whose product with
//! the secret has, in its constant coefficient, the secret's contribution to that number's product
//! with a query.
//!
//! Word i of block k of a query is coefficient i of `a_k s + e_k`. So a row `d` of the matrix sums
//! to the constant coefficient of `sum_k a_k d_k(1/X) s`: the mask is `sum_k a_k(X) d_k(1/X)`, one
//! transform for each N numbers of the table.

use crate::lattice::{self, N, Q_BITS};
use crate::plain_modulus::PlainModulus;
use rayon::prelude::*;
use sotto_core::{Error, ExpectOrDefault, Misuse, Result};
use sotto_lattice::ring::Ring;
use sotto_math::matrix::{PANEL_ROWS, PanelLayout};
use sotto_math::ntt::{Accumulator, Automorphism};
use sotto_pages::HugeWords;
use std::ops::Range;

/// Blocks taken from a panel at once: that piece of it stays in the second-level cache while its
/// rows are read out of it.
const STRIP: usize = 2;

/// Columns in a strip; the last strip of a panel may have fewer.
const STRIP_COLUMNS: usize = STRIP * N;

/// Bits of the lower half of a word.
const HALF: u32 = Q_BITS / 2;

/// Computes the masks of a table.
pub struct SampleMasks {
    ring: Ring,
    layout: PanelLayout,
    plain: PlainModulus,
    /// For each block, the slots of `a_k(1/X)`.
    blocks: Vec<Vec<u64>>,
    inverse: Automorphism,
}

impl SampleMasks {
    /// Masks for a matrix of this layout, multiplied by the first of [a query's
    /// vectors](lattice::VECTORS).
    ///
    /// # Errors
    /// None, since the constants of [`lattice::ring`] are valid.
    pub fn new(layout: PanelLayout, plain: PlainModulus) -> Result<Self> {
        Self::of_bucket(0, layout, plain)
    }

    /// Masks for the matrix of a bucket, all of which have this layout, multiplied by the bucket's
    /// vector.
    ///
    /// # Errors
    /// None, since the constants of [`lattice::ring`] are valid.
    pub fn of_bucket(bucket: usize, layout: PanelLayout, plain: PlainModulus) -> Result<Self> {
        let [vector, _] = lattice::VECTORS;
        Self::from_block(lattice::first_block(bucket, layout.cols()), layout, plain, vector)
    }

    /// Masks for a matrix of this layout, multiplied by [one of a query's
    /// vectors](lattice::VECTORS).
    ///
    /// # Errors
    /// None, since the constants of [`lattice::ring`] are valid.
    pub fn under(layout: PanelLayout, plain: PlainModulus, vector: &'static str) -> Result<Self> {
        Self::from_block(0, layout, plain, vector)
    }

    fn from_block(
        first: usize,
        layout: PanelLayout,
        plain: PlainModulus,
        vector: &'static str,
    ) -> Result<Self> {
        let ring = lattice::ring()?;
        let inverse = ring.plan().automorphism(2 * N - 1);
        let inverse =
            inverse.ok_or(Misuse::Rule("the ring of silent schemes must have every automorphism"))?;
        let block = |k| {
            let mut reversed = vec![0; N];
            inverse.apply(&lattice::block(&ring, vector, k), &mut reversed);
            reversed
        };
        let blocks = (first..first + layout.cols().div_ceil(N)).into_par_iter().map(block).collect();
        Ok(SampleMasks { ring, layout, plain, blocks, inverse })
    }

    /// Numbers of a panel, whose masks are made together.
    pub fn together(&self) -> usize {
        PANEL_ROWS / self.plain.bytes()
    }

    /// The masks of some numbers of all records, in slots. `step` is called for each panel that has
    /// some of them.
    ///
    /// # Errors
    /// The errors of `read`.
    pub fn of_numbers(
        &self,
        numbers: Range<usize>,
        read: impl Fn(u64, &mut [u8]) -> Result<()> + Sync,
        step: impl Fn() + Sync,
    ) -> Result<HugeWords<u64>> {
        let mut masks = HugeWords::zeroed(numbers.len() * N);
        let (mut rest, mut first, mut pieces) = (&mut *masks, numbers.start, Vec::new());
        while first < numbers.end {
            let end = numbers.end.min((first / self.together() + 1) * self.together());
            let (piece, after) = std::mem::take(&mut rest).split_at_mut((end - first) * N);
            pieces.push((first, piece));
            (rest, first) = (after, end);
        }
        pieces.into_par_iter().try_for_each_init(Workspace::default, |space, (first, masks)| {
            if first / self.together() * self.plain.scales() < self.layout.panels() {
                self.of_panel(space, first, &read, masks)?;
            }
            step();
            Ok::<_, Error>(())
        })?;
        Ok(masks)
    }

    /// The masks of numbers that are not in the matrix but are multiplied by the same vector:
    /// `numbers` has the value of each in every record.
    pub fn of_fresh(&self, numbers: &[Vec<i16>]) -> Vec<u64> {
        let plan = self.ring.plan();
        let mask = |values: &Vec<i16>| {
            let (mut sum, mut slots, mut mask) = (plan.accumulator(), vec![0; N], vec![0; N]);
            for (values, block) in values.chunks(N).zip(&self.blocks) {
                slots.fill(0);
                slots.iter_mut().zip(values).for_each(|(slot, value)| *slot = number(i64::from(*value)));
                plan.forward(&mut slots);
                plan.mul_acc_wide(&mut sum, &slots, block);
            }
            plan.take(&mut sum, &mut slots);
            self.inverse.apply(&slots, &mut mask);
            mask
        };
        numbers.par_iter().flat_map_iter(mask).collect()
    }

    /// The product, modulo q, of such a number's values with the words of a vector, of which low
    /// bits were dropped.
    pub fn fresh_product(&self, values: &[i16], words: &[u64], dropped: u32) -> u64 {
        // Both halves of a word have 25 bits, and a value 16: sums of 2^20 products are below 2^61.
        let [low, high] = words.iter().zip(values).fold([0i64; 2], |[low, high], (word, value)| {
            let value = i64::from(*value);
            [low + (word & ((1 << HALF) - 1)) as i64 * value, high + (word >> HALF) as i64 * value]
        });
        let product = (i128::from(low) + (i128::from(high) << HALF)) << dropped;
        let q = self.ring.q();
        q.reduce_u128((product + (i128::from(q.value()) << 64)) as u128)
    }

    fn of_panel(
        &self,
        space: &mut Workspace,
        first_number: usize,
        read: &impl Fn(u64, &mut [u8]) -> Result<()>,
        masks: &mut [u64],
    ) -> Result<()> {
        let (plan, bytes) = (self.ring.plan(), self.plain.bytes());
        let (panel, in_panel) = (first_number / self.together(), first_number % self.together());
        let wide = if bytes == 1 && self.plain.scales() == 1 { masks.len() / N } else { 0 };
        space.sums.resize_with(wide, || plan.accumulator());
        for (strip, blocks) in self.blocks.chunks(STRIP).enumerate() {
            let first = strip * STRIP_COLUMNS;
            let columns = STRIP_COLUMNS.min(self.layout.padded_cols() - first);
            let (scales, piece_bytes) = (self.plain.scales(), columns * PANEL_ROWS);
            space.piece.resize(scales * piece_bytes, 0);
            for (panel, piece) in (panel * scales..).zip(space.piece.chunks_exact_mut(piece_bytes)) {
                read((panel * self.layout.panel_bytes() + first * PANEL_ROWS) as u64, piece)?;
            }
            for (i, mask) in masks.chunks_exact_mut(N).enumerate() {
                if scales > 1 {
                    space.numbers.clear();
                    space.numbers.resize(blocks.len() * N, 0);
                    let row = &mut space.rows[0];
                    row.resize(columns, 0);
                    let mut shift = 0;
                    for piece in space.piece.chunks_exact(piece_bytes) {
                        self.layout.signed_row_of_panel(piece, in_panel + i, row);
                        for (number, byte) in space.numbers.iter_mut().zip(&*row) {
                            *number = number.wrapping_add((i64::from(*byte) << shift) as u64);
                        }
                        shift += self.plain.scale_bits();
                    }
                    for (numbers, block) in space.numbers.chunks_exact_mut(N).zip(blocks) {
                        numbers.iter_mut().for_each(|x| *x = number(*x as i64));
                        plan.forward(numbers);
                        // A few reduced products take less time than reducing their sum.
                        plan.mul_acc(mask, numbers, block);
                    }
                    continue;
                }
                let row = bytes * (in_panel + i);
                for (row, bytes) in (row..row + bytes).zip(&mut space.rows) {
                    bytes.clear();
                    bytes.resize(blocks.len() * N, 0);
                    let bytes =
                        bytes.get_mut(..columns).expect_or_default("a strip has no more columns than blocks");
                    self.layout.signed_row_of_panel(&space.piece, row, bytes);
                }
                let [low, high] = &space.rows;
                if let Some(sum) = space.sums.get_mut(i) {
                    for (row, block) in low.as_chunks::<N>().0.iter().zip(blocks) {
                        plan.forward_i8_mul_acc(row, block, sum);
                    }
                    continue;
                }
                for ((low, high), block) in low.chunks_exact(N).zip(high.chunks_exact(N)).zip(blocks) {
                    space.numbers.clear();
                    space.numbers.extend(low.iter().zip(high).map(|(low, high)| residue(*low, *high)));
                    plan.forward(&mut space.numbers);
                    plan.mul_acc(mask, &space.numbers, block);
                }
            }
        }
        space.slots.resize(N, 0);
        for (i, mask) in masks.chunks_exact_mut(N).enumerate() {
            match space.sums.get_mut(i) {
                Some(sum) => plan.take(sum, &mut space.slots),
                None => space.slots.copy_from_slice(mask),
            }
            // sum_k a_k(1/X) d_k(X), with 1/X substituted for X.
            self.inverse.apply(&space.slots, mask);
        }
        Ok(())
    }
}

/// A number modulo q: the first byte plus 256 times the second, both signed.
fn residue(low: i8, high: i8) -> u64 {
    number(i64::from(low) + 256 * i64::from(high))
}

/// A small number modulo q.
fn number(number: i64) -> u64 {
    (number as u64).wrapping_add(lattice::Q & (number >> 63) as u64)
}

/// One thread's buffers: a megabyte and a half.
#[derive(Default)]
struct Workspace {
    piece: Vec<u8>,
    rows: [Vec<i8>; 2],
    numbers: Vec<u64>,
    sums: Vec<Accumulator>,
    slots: Vec<u64>,
}

//! The masks of products: for each number of a record, the polynomial whose product with the secret has in its constant
//! coefficient what the secret adds to that number's product with a query.
//!
//! Word i of block k of a query is coefficient i of `a_k s + e_k`. So a row `d` of the matrix adds up to the constant
//! coefficient of `sum_k a_k d_k(1/X) s`: the mask is `sum_k a_k(X) d_k(1/X)`, one transform for each N numbers of the table.

use crate::lattice::{self, GROUP_BYTES, N};
use crate::vector::Bits;
use rayon::prelude::*;
use sotto_core::{Error, Misuse, Result, Sure};
use sotto_lattice::ring::Ring;
use sotto_math::basis::round_to_bits;
use sotto_math::matrix::PanelLayout;
use sotto_math::matrix::layout::PANEL_ROWS;
use sotto_math::ntt::{Accumulator, Automorphism};

/// Blocks taken from a panel at once: that piece of it stays in the second cache while its rows are read out of it.
const STRIP: usize = 2;

/// Columns in a strip; the last strip of a panel may have fewer.
const STRIP_COLUMNS: usize = STRIP * N;

/// Numbers in a panel: each is two rows of bytes.
const NUMBERS: usize = PANEL_ROWS / 2;

/// Bits of the lower half of a query's word.
const HALF: u32 = 25;

/// Steps of one group's masks.
pub const STEPS: usize = GROUP_BYTES / PANEL_ROWS;

/// What makes the masks of a table.
pub struct Samples {
    ring: Ring,
    layout: PanelLayout,
    /// Of each block, the slots of `a_k(1/X)`.
    blocks: Vec<Vec<u64>>,
    inverse: Automorphism,
}

impl Samples {
    /// For the matrix of this layout.
    ///
    /// # Errors
    /// None, as [`lattice::ring`].
    pub fn new(layout: PanelLayout) -> Result<Self> {
        let ring = lattice::ring()?;
        let inverse = ring.plan().automorphism(2 * N - 1);
        let inverse = inverse.ok_or(Misuse::Rule("the ring of silent schemes has every automorphism"))?;
        let block = |k| {
            let mut reversed = vec![0; N];
            inverse.apply(&lattice::block(&ring, k), &mut reversed);
            reversed
        };
        let blocks = (0..layout.cols().div_ceil(N)).into_par_iter().map(block).collect();
        Ok(Samples { ring, layout, blocks, inverse })
    }

    /// The masks of a group's numbers, in slots, one after the other; numbers past the end of a record have none, that is zero.
    /// `read` fills a piece of the matrix from some byte on, and `step` hears of [`STEPS`] steps.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn of_group(
        &self,
        group: usize,
        read: impl Fn(u64, &mut [u8]) -> Result<()> + Sync,
        step: impl Fn() + Sync,
    ) -> Result<Vec<u64>> {
        let mut masks = vec![0; N * N];
        let first = group * STEPS;
        let panels = masks.par_chunks_exact_mut(NUMBERS * N).enumerate();
        panels.try_for_each_init(Workspace::default, |space, (panel, masks)| {
            if first + panel < self.layout.panels() {
                self.of_panel(space, first + panel, &read, masks)?;
            }
            step();
            Ok::<_, Error>(())
        })?;
        Ok(masks)
    }

    /// A sample of products that nobody packs: `numbers` has one number for each word of a query's vector. The mask, and the
    /// product alone for a body, in the bits that are sent.
    pub fn of_numbers(&self, words: &[u64], numbers: &[i16], bits: Bits) -> [Vec<u64>; 2] {
        let (plan, q) = (self.ring.plan(), self.ring.q());
        let (mut sum, mut slots, mut mask) = (plan.accumulator(), Vec::with_capacity(N), vec![0; N]);
        for (numbers, block) in numbers.chunks(N).zip(&self.blocks) {
            slots.clear();
            slots.extend(numbers.iter().map(|number| residue(i64::from(*number))));
            slots.resize(N, 0);
            plan.forward(&mut slots);
            plan.mul_acc_wide(&mut sum, &slots, block);
        }
        slots.resize(N, 0);
        plan.take(&mut sum, &mut slots);
        self.inverse.apply(&slots, &mut mask);
        plan.inverse(&mut mask);
        let rounded = |x: &[u64], bits| {
            let mut out = vec![0; x.len()];
            round_to_bits(q, x, bits, &mut out);
            out
        };
        // Both halves of a word have 25 bits, and a number 16: sums of 2^20 products are below 2^61.
        let [low, high] = words.iter().zip(numbers).fold([0i64; 2], |[low, high], (word, number)| {
            let number = i64::from(*number);
            [low + (word & ((1 << HALF) - 1)) as i64 * number, high + (word >> HALF) as i64 * number]
        });
        let product = (i128::from(low) + (i128::from(high) << HALF)) << bits.dropped();
        let product = q.reduce_u128((product + (i128::from(q.value()) << 64)) as u128);
        [rounded(&mask, bits.mask), rounded(&[product], bits.body)]
    }

    fn of_panel(
        &self,
        space: &mut Workspace,
        panel: usize,
        read: &impl Fn(u64, &mut [u8]) -> Result<()>,
        masks: &mut [u64],
    ) -> Result<()> {
        let plan = self.ring.plan();
        space.sums.resize_with(NUMBERS, || plan.accumulator());
        for (strip, blocks) in self.blocks.chunks(STRIP).enumerate() {
            let first = strip * STRIP_COLUMNS;
            let columns = STRIP_COLUMNS.min(self.layout.padded_cols() - first);
            space.piece.resize(columns * PANEL_ROWS, 0);
            read((panel * self.layout.panel_bytes() + first * PANEL_ROWS) as u64, &mut space.piece)?;
            for (i, sum) in space.sums.iter_mut().enumerate() {
                for (row, bytes) in [2 * i, 2 * i + 1].into_iter().zip(&mut space.rows) {
                    bytes.clear();
                    bytes.resize(blocks.len() * N, 0);
                    let bytes = bytes.get_mut(..columns).sure("a strip has no more columns than blocks");
                    self.layout.signed_row_of_panel(&space.piece, row, bytes);
                }
                let [low, high] = &space.rows;
                for ((low, high), block) in low.chunks_exact(N).zip(high.chunks_exact(N)).zip(blocks) {
                    space.numbers.clear();
                    space
                        .numbers
                        .extend(low.iter().zip(high).map(|(low, high)| residue(number(*low, *high))));
                    plan.forward(&mut space.numbers);
                    plan.mul_acc_wide(sum, &space.numbers, block);
                }
            }
        }
        space.slots.resize(N, 0);
        for (sum, mask) in space.sums.iter_mut().zip(masks.chunks_exact_mut(N)) {
            plan.take(sum, &mut space.slots);
            // sum_k a_k(1/X) d_k(X), with 1/X for X.
            self.inverse.apply(&space.slots, mask);
        }
        Ok(())
    }
}

/// A number modulo q.
fn residue(number: i64) -> u64 {
    (number as u64).wrapping_add(lattice::Q & (number >> 63) as u64)
}

/// The number that two rows of bytes have in a column: the first byte and 256 times the second, both signed.
fn number(low: i8, high: i8) -> i64 {
    i64::from(low) + 256 * i64::from(high)
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

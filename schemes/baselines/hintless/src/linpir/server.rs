//! The server's half: the data that depends on public numbers and the hint alone, and the passes
//! over it.
//!
//! ```text
//! for each ring:
//!   digits    | digits of the chain of rotations, a table of tiles modulo all three primes; the same for every table
//!   diagonals | a table of tiles modulo two primes: a row for each of R / 2 diagonals, a column for each block of R rows
//!   masks     | for each block the mask of the sum over its diagonals, modulo two primes, packed
//! ```

use super::{CYCLE, EncryptedSecret, N, RINGS, key_masks, rule, secret_mask};
use rayon::prelude::*;
use sotto_core::Result;
use sotto_lattice::bgv::keyswitch::lower;
use sotto_lattice::bgv::pass::pass;
use sotto_lattice::bgv::rotation_chain::{ChainMasks, RotationChain};
use sotto_lattice::bgv::wire::{body_bytes, put_body, take_body};
use sotto_lattice::bgv::{Ciphertext, Pow2, RnsRing, Scratch, SlotRing, TableProduct};
use sotto_math::modulus::Modulus;
use sotto_math::tiles::{Selectors, Strip, TileLayout};
use sotto_prg::PublicSeed;
use std::ops::Range;

/// Blocks whose diagonals share cache lines of the image, and are made together. Their rows are
/// whole panels of the matrix.
pub const TOGETHER: usize = TileLayout::GROUP_COLS;

/// The server's half of LinPIR for a hint, in all rings or in some of them: the layout, and the
/// multiplication.
pub struct LinPir {
    /// The number of the first ring.
    first: usize,
    parts: Vec<RingPart>,
    block_rows: usize,
    blocks: usize,
}

/// The server's half of LinPIR in one ring.
struct RingPart {
    ring: RnsRing<Pow2>,
    plain: Modulus,
    chain: RotationChain<Pow2>,
    diagonals: TableProduct,
    /// The mask of the ciphertext of s.
    mask: Vec<u64>,
}

/// The masks of a chain's ciphertexts, for each ring, from which the masks of sums are made.
pub struct LinPirMasks(Vec<Vec<Vec<u64>>>);

/// Rows of the hint: n words each, of some blocks.
pub struct HintRows<'a> {
    /// The words.
    pub words: &'a [u32],
    /// Words in a row.
    pub n: usize,
    /// The blocks.
    pub blocks: Range<usize>,
}

impl LinPir {
    /// LinPIR for a hint of `rows` rows, in blocks of `block_rows`, in some of the rings.
    ///
    /// # Errors
    /// None for checked parameters.
    pub fn new(
        rings: &[RnsRing<Pow2>; RINGS],
        which: Range<usize>,
        seed: &PublicSeed,
        [rows, block_rows]: [usize; 2],
    ) -> Result<Self> {
        let blocks = rows.div_ceil(block_rows);
        let part = |(k, ring): (usize, &RnsRing<Pow2>)| {
            let plain = Modulus::new(ring.ring().plain())?;
            let chain = RotationChain::new(ring, block_rows / 2)?;
            let diagonals = TableProduct::of_parts(ring, ring.top(), 1, block_rows / 2, blocks)?;
            Some(RingPart { ring: ring.clone(), plain, chain, diagonals, mask: secret_mask(ring, seed, k) })
        };
        let some = rings.iter().enumerate().skip(which.start).take(which.len());
        let parts: Option<Vec<RingPart>> = some.map(part).collect();
        Ok(LinPir { first: which.start, parts: parts.ok_or_else(rule)?, block_rows, blocks })
    }

    /// The blocks that are written together with any of these, each once.
    pub fn together(&self, blocks: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
        let mut firsts: Vec<usize> = blocks.map(|block| block / TOGETHER * TOGETHER).collect();
        firsts.sort_unstable();
        firsts.dedup();
        firsts.into_iter().map(|first| first..self.blocks.min(first + TOGETHER)).collect()
    }

    /// Puts the digits of all chains, and returns the masks that diagonals are multiplied by.
    ///
    /// # Errors
    /// The errors of `put`.
    pub fn prepare(
        &self,
        seed: &PublicSeed,
        put: impl Fn(u64, &[u8]) -> Result<()> + Sync,
    ) -> Result<LinPirMasks> {
        let chains = self.placed().into_par_iter().enumerate().map(|(k, (part, at))| {
            let public = ChainMasks { mask: &part.mask, keys: key_masks(seed, self.first + k) };
            part.chain.prepare(&part.ring, public, |offset, bytes| put(at + offset, bytes))
        });
        Ok(LinPirMasks(chains.collect::<Result<_>>()?))
    }

    /// Puts the diagonals and masks of blocks that are written [`together`](Self::together).
    ///
    /// # Errors
    /// The errors of `put`.
    pub fn write(
        &self,
        rows: &HintRows<'_>,
        masks: &LinPirMasks,
        put: impl Fn(u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        for ((part, at), masks) in self.placed().into_iter().zip(&masks.0) {
            let diagonals = at + part.chain.bytes();
            let sums =
                part.write(rows, self.block_rows, masks, |offset, bytes| put(diagonals + offset, bytes))?;
            let first = diagonals + part.diagonals.bytes();
            for (block, sum) in rows.blocks.clone().zip(sums) {
                let mut bytes = Vec::with_capacity(part.mask_bytes());
                put_body(&part.ring, part.ring.top(), &sum, &mut bytes);
                put(first + (block * part.mask_bytes()) as u64, &bytes)?;
            }
        }
        Ok(())
    }

    /// Encryptions of `H s`, for each client and each of these rings: two polynomials for each
    /// block, modulo the ring's first prime.
    ///
    /// # Panics
    /// If `image` is shorter than the data of these rings.
    pub fn answers(&self, image: &[u8], clients: &[&[EncryptedSecret]]) -> Vec<Vec<Vec<[Vec<u64>; 2]>>> {
        let of_ring = |(k, (part, at)): (usize, (&RingPart, u64))| {
            let (_, image) = image.split_at(at as usize);
            let of_ring = clients.iter().filter_map(|rings| rings.get(self.first + k));
            let of_ring: Vec<(&[u64], &[Vec<u64>])> = of_ring.map(|x| (&x.body[..], &x.key[..])).collect();
            part.answers(image, &of_ring)
        };
        let rings: Vec<_> = self.placed().into_par_iter().enumerate().map(of_ring).collect();
        let mut out: Vec<Vec<_>> = clients.iter().map(|_| Vec::with_capacity(RINGS)).collect();
        for answers in rings {
            out.iter_mut().zip(answers).for_each(|(out, answers)| out.push(answers));
        }
        out
    }

    /// Each ring's part, with its offset.
    fn placed(&self) -> Vec<(&RingPart, u64)> {
        let starts = self.parts.iter().scan(0, |at, part| {
            let start = *at;
            *at += part.bytes(self.blocks);
            Some((part, start))
        });
        starts.collect()
    }
}

impl RingPart {
    fn bytes(&self, blocks: usize) -> u64 {
        self.chain.bytes() + self.diagonals.bytes() + (blocks * self.mask_bytes()) as u64
    }

    fn mask_bytes(&self) -> usize {
        body_bytes(&self.ring, self.ring.top())
    }

    /// Puts the diagonals of some blocks, and returns the masks of their sums.
    fn write(
        &self,
        hint: &HintRows<'_>,
        block_rows: usize,
        masks: &[Vec<u64>],
        put: impl Fn(u64, &[u8]) -> Result<()>,
    ) -> Result<Vec<Vec<u64>>> {
        let (ring, level) = (&self.ring, self.ring.top());
        let mut sums = vec![vec![0; ring.words(level)]; hint.blocks.len()];
        for first in (0..block_rows / 2).step_by(TileLayout::TILE_ROWS) {
            let rows = first..(first + TileLayout::TILE_ROWS).min(block_rows / 2);
            let strip = Strip { rows: rows.clone(), cols: hint.blocks.clone() };
            let made = sums.par_iter_mut().zip(hint.blocks.clone()).enumerate().map(|(i, (sum, col))| {
                let mut product = vec![0; ring.words(level)];
                let mut of_row = |row: usize| {
                    let values = self.diagonal(hint, [i, row], block_rows);
                    product.copy_from_slice(masks.get(row).ok_or_else(rule)?);
                    ring.mul(level, &mut product, &values);
                    ring.add(level, sum, &product);
                    Ok(((row, col), values))
                };
                rows.clone().map(&mut of_row).collect::<Result<Vec<_>>>()
            });
            let made: Vec<Vec<_>> = made.collect::<Result<_>>()?;
            self.diagonals.write_strip(&strip, &made.into_iter().flatten().collect::<Vec<_>>(), &put)?;
        }
        Ok(sums)
    }

    /// Diagonal j of a block, as values.
    fn diagonal(&self, hint: &HintRows<'_>, [block, j]: [usize; 2], block_rows: usize) -> Vec<u64> {
        let (ring, t) = (self.ring.ring(), &self.plain);
        // A multiple of t makes numbers positive.
        let positive = (1u64 << 31).next_multiple_of(t.value());
        let number = |k: usize, column: usize| {
            // The number of rows of a block is a power of two.
            let (row, column) = (block * block_rows + (k & (block_rows - 1)), column % CYCLE);
            let word = hint.words.get(row * hint.n + column).filter(|_| column < hint.n)?;
            Some(t.reduce(positive.wrapping_add_signed(i64::from(*word as i32))))
        };
        let cycle = |on: usize| (0..CYCLE).map(move |k| number(k, k + j + on).unwrap_or_default());
        let slots: Vec<u64> = cycle(0).chain(cycle(block_rows / 2)).collect();
        let mut coefficients = vec![0; N];
        ring.encode(&slots, &mut coefficients);
        self.ring.from_plain(self.ring.top(), &coefficients).to_vec()
    }

    /// The sums over all diagonals, for each client's ciphertexts.
    fn answers(&self, image: &[u8], clients: &[(&[u64], &[Vec<u64>])]) -> Vec<Vec<[Vec<u64>; 2]>> {
        let ring = &self.ring;
        let (digits, image) = image.split_at(self.chain.bytes() as usize);
        let (diagonals, masks) = image.split_at(self.diagonals.bytes() as usize);
        let chains = self.chain.bodies(ring, digits, clients);
        let selectors: Vec<Vec<Selectors>> =
            chains.iter().map(|chain| self.diagonals.selectors(chain)).collect();
        let views: Vec<&[Selectors]> = selectors.iter().map(Vec::as_slice).collect();
        let sums = pass(&self.diagonals, diagonals, &views);
        let blocks = self.diagonals.layout().cols();
        let of_client = |sums: &Vec<Vec<u64>>| {
            let sums: Vec<&[u64]> = sums.iter().map(Vec::as_slice).collect();
            let bodies = self.diagonals.columns(ring, &sums, blocks, 0..blocks);
            let masks = masks.par_chunks(self.mask_bytes());
            bodies.par_iter().zip(masks).filter_map(|(body, mask)| self.answer(body.part(0), mask)).collect()
        };
        sums.par_iter().map(of_client).collect()
    }

    /// One ciphertext, modulo the first prime.
    fn answer(&self, body: &[u64], mask: &[u8]) -> Option<[Vec<u64>; 2]> {
        let (ring, level) = (&self.ring, self.ring.top());
        // The bytes of a damaged image may be no words, and then no answer is right.
        let mask = take_body(ring, level, mask).unwrap_or_else(|| vec![0; ring.words(level)]);
        let mut out = Ciphertext::zero(ring, level.below()?, 2);
        lower(ring, &Ciphertext::new(ring, level, &[body, &mask]), &mut out, &mut Scratch::new(ring));
        Some([0, 1].map(|part| out.part(part).to_vec()))
    }
}

//! Digits for packing: written beside the matrix, and passed over with the keys of many queries.
//!
//! ```text
//! digits | a table of tiles: a row for each digit of each switch, a column for each group of 2048 numbers of a record
//! masks  | for each group the packed ciphertext's mask in whole bytes: its coefficients as they are sent, or its slots
//! ```

use crate::lattice::{self, N, Q_BITS, few_digit_bytes, mask_bytes};
use crate::vector::Bits;
use rayon::prelude::*;
use sotto_core::{Misuse, Result, Section, Sink};
use sotto_lattice::cipher::Cipher;
use sotto_lattice::encrypt::restore;
use sotto_lattice::inspiring::{Descent, Inspiring};
use sotto_lattice::ring::{Level, Ring};
use sotto_math::basis::round_to_bits;
use sotto_math::bits;
use sotto_math::tiles::{Strip, TileLayout, Turned, gather, scan_turned};
use std::ops::Range;

/// Where digits and masks lie, and what packs with them.
pub struct Packed {
    packing: Inspiring,
    layout: TileLayout,
    groups: usize,
    bits: Bits,
    masks: Masks,
}

/// How the masks of packed ciphertexts lie in an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Masks {
    /// As answers have them: coefficients, rounded.
    Sent,
    /// For ciphertexts that are computed with: slots, with all their bits.
    Whole,
}

/// Groups whose digits share lines of the image, and are made together.
const TOGETHER: usize = TileLayout::GROUP_COLS;

impl Packed {
    /// For records of so many groups.
    ///
    /// # Errors
    /// [`Misuse::Rule`] for more than can be laid out.
    pub fn new(groups: usize, bits: Bits, masks: Masks) -> Result<Self> {
        Self::few(N, groups, bits, masks)
    }

    /// For groups of so many numbers: N, or a power of two from 2 to N / 2.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn few(samples: usize, groups: usize, bits: Bits, masks: Masks) -> Result<Self> {
        let packing = lattice::few_packing(samples)?;
        let layout =
            packing.layout(groups).ok_or(Misuse::Rule("digits of checked parameters can be laid out"))?;
        Ok(Packed { packing, layout, groups, bits, masks })
    }

    /// Bytes in an image.
    pub fn bytes(&self) -> u64 {
        few_digit_bytes(self.packing.samples(), self.groups as u64, self.mask_bits())
    }

    /// Bits of a mask's word in an image.
    fn mask_bits(&self) -> u32 {
        match self.masks {
            Masks::Sent => self.bits.mask,
            Masks::Whole => Q_BITS,
        }
    }

    /// Groups that are written together with any of these, each once.
    pub fn together(&self, groups: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
        let mut firsts: Vec<usize> = groups.map(|group| group / TOGETHER * TOGETHER).collect();
        firsts.sort_unstable();
        firsts.dedup();
        firsts.into_iter().map(|first| first..self.groups.min(first + TOGETHER)).collect()
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
            let (mut mask, mut packed) = (descent.finish(), Vec::new());
            if self.masks == Masks::Sent {
                self.ring().inverse(Level::Main, &mut mask);
                mask = self.rounded(&mask, self.bits.mask);
            }
            bits::pack_words(&mask, self.mask_bits(), &mut packed);
            let at = start + layout.bytes() + group as u64 * mask_bytes(self.mask_bits());
            out.write_at(section, at, &packed)?;
        }
        Ok(())
    }

    /// A client's keys, as the pass takes them; `None` if they are none.
    pub fn keys(&self, keys: &[Vec<u128>]) -> Option<Turned> {
        let ring = self.packing.ring();
        let bodies: Option<Vec<Vec<u64>>> =
            keys.iter().map(|body| restore(ring, Level::Main, body, self.bits.keys)).collect();
        bodies.filter(|bodies| bodies.len() == 2 * self.packing.digits()).map(|bodies| self.turned(&bodies))
    }

    /// The bodies of keys in slots, as the pass takes them.
    ///
    /// # Panics
    /// As [`Inspiring::keys`].
    pub fn turned(&self, bodies: &[Vec<u64>]) -> Turned {
        self.packing.keys(bodies)
    }

    /// Packs the products of many queries: one pass over the digits, of which threads of the current pool take stretches.
    /// For each query and group, mask and body of the packed ciphertext, in the bits that are sent: for masks that lie there
    /// as they are sent.
    ///
    /// # Panics
    /// If `image` is not [`bytes`](Self::bytes) long, or there are not as many products for each query as all groups have
    /// numbers.
    pub fn pack(&self, image: &[u8], keys: &[&Turned], products: &[Vec<u64>]) -> Vec<Vec<[Vec<u64>; 2]>> {
        self.each_group(image, keys, products, |products, mask, sum| {
            let body = self.packing.body(products, &sum);
            [mask, self.rounded(&body, self.bits.body)]
        })
    }

    /// The same, but for each query and group the ciphertext itself: for masks that are there whole.
    ///
    /// # Panics
    /// As [`pack`](Self::pack).
    pub fn ciphers(&self, image: &[u8], keys: &[&Turned], products: &[Vec<u64>]) -> Vec<Vec<Cipher>> {
        let ring = self.ring();
        self.each_group(image, keys, products, |products, mut mask, sum| {
            let q = ring.q().value();
            mask.iter_mut().for_each(|word| *word -= if *word < q { 0 } else { q });
            let mut body = vec![0; N];
            body.iter_mut()
                .step_by(self.packing.stride())
                .zip(products)
                .for_each(|(x, product)| *x = *product);
            ring.forward(Level::Main, &mut body);
            ring.add(Level::Main, &mut body, &self.packing.slots(&sum));
            Cipher::new(ring, Level::Main, &mask, std::iter::once(body.as_slice()))
        })
    }

    /// For each query and group, what `make` makes of its products, its mask, and its sum over the digits in the order of cycles.
    fn each_group<T: Send>(
        &self,
        image: &[u8],
        keys: &[&Turned],
        products: &[Vec<u64>],
        make: impl Fn(&[u64], Vec<u64>, Vec<u64>) -> T + Sync,
    ) -> Vec<Vec<T>> {
        let layout = &self.layout;
        let (digits, masks) = image.split_at(layout.bytes() as usize);
        let samples = self.packing.samples();
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
            assert_eq!(products.len(), samples * self.groups, "a number of each group");
            let sums: Vec<u64> = parts.iter().filter_map(|part| part.get(i)).flatten().copied().collect();
            let masks = masks.par_chunks_exact(mask_bytes(self.mask_bits()) as usize);
            let groups = products.par_chunks_exact(samples).zip(masks).enumerate();
            let made = groups.map(|(group, (products, mask))| {
                let mut sum = vec![0; N];
                gather(self.packing.words(), layout, 1, &sums, group..group + 1, &mut [&mut sum]);
                // Bytes of a damaged image are no words, and then no answer is right.
                let mask = bits::unpack_words(mask, self.mask_bits(), N).unwrap_or_else(|| vec![0; N]);
                make(products, mask, sum)
            });
            made.collect()
        };
        products.par_iter().enumerate().map(of_query).collect()
    }

    /// Residues in the bits that are sent of them.
    pub fn rounded(&self, residues: &[u64], bits: u32) -> Vec<u64> {
        let mut rounded = vec![0; residues.len()];
        round_to_bits(self.ring().q(), residues, bits, &mut rounded);
        rounded
    }

    /// The ring of packed ciphertexts.
    pub fn ring(&self) -> &Ring {
        self.packing.ring()
    }

    /// The products of a record's numbers, modulo q: of each of its bytes there are the sums of all planes of a query's words.
    pub fn products(&self, sums: &[i64], planes: usize) -> Vec<u64> {
        let words = self.packing.samples() * self.groups;
        let mut numbers = residues(self.packing.ring(), sums, [2, planes], self.bits.dropped());
        numbers.resize(words, 0);
        numbers
    }
}

/// Products of numbers of so many signed bytes with words of so many planes, of which low bits were dropped, modulo q: of each
/// byte there are the sums of all planes.
pub fn residues(ring: &Ring, sums: &[i64], [bytes, planes]: [usize; 2], dropped: u32) -> Vec<u64> {
    let q = ring.q();
    let horner = |x: i128, next: i128| (x << 8) + next;
    let byte = |sums: &[i64]| sums.iter().rev().fold(0, |x, sum| horner(x, i128::from(*sum)));
    let number = |sums: &[i64]| {
        // Below 2^(50 + 8 + 24 + 20) in absolute value.
        let x = sums.chunks(planes).rev().fold(0, |x, sums| horner(x, byte(sums))) << dropped;
        q.reduce_u128((x + (i128::from(q.value()) << 64)) as u128)
    };
    sums.chunks(bytes * planes).map(number).collect()
}

//! The second layer of an answer: of the ciphertexts of all blocks, the one that a second vector picks.

use crate::message::Answer;
use crate::params::Params;
use crate::sizes::GROUP;
use rayon::prelude::*;
use sotto_core::{Params as _, Result};
use sotto_lattice::inspiring::Inspiring;
use sotto_lattice::ring::{Level, Ring};
use sotto_math::basis::round_to_bits;
use sotto_math::bits;
use sotto_math::matrix::{QueryPlanes, scan_planes};
use sotto_silent::lattice::{self, N, VECTORS};
use sotto_silent::matrix::times;
use sotto_silent::packed::{Keys, Masks, Packed, residues};
use sotto_silent::samples::Samples;

/// What picks.
pub(crate) struct Second {
    params: Params,
    ring: Ring,
    /// What packs masks, in the order of their numbers.
    packed: Vec<Packed>,
    /// The masks of bodies' products with the second vector, and what packs those of each group of bodies.
    fresh: Samples,
    packings: Vec<Inspiring>,
}

/// What a query has for the second layer.
pub(crate) struct Pick {
    /// The words of the second vector.
    pub(crate) words: Vec<u64>,
    /// The key's bodies, in slots, and as the pass over weights takes it.
    pub(crate) key: Vec<Vec<u64>>,
    pub(crate) keys: Keys,
}

/// Mask and body of a packed ciphertext.
type Cipher = [Vec<u64>; 2];

/// What packs masks, in the order of their numbers.
pub(crate) fn packings(params: &Params) -> Result<Vec<Packed>> {
    let [_, bits] = params.bits();
    let packings = params.literal().packings().into_iter();
    packings.map(|groups| Packed::new(groups, bits, Masks::Sent)).collect()
}

impl Second {
    pub(crate) fn new(params: &Params) -> Result<Self> {
        let ([_, groups], [_, of_masks]) = (params.groups(), VECTORS);
        let packing = |numbers: &usize| lattice::packing(numbers.next_power_of_two());
        Ok(Second {
            params: params.clone(),
            ring: lattice::ring()?,
            packed: packings(params)?,
            fresh: Samples::under(params.literal().masks(), of_masks)?,
            packings: groups.iter().map(packing).collect::<Result<_>>()?,
        })
    }

    /// The answers to some queries: masks of all blocks, weights that pack them, and each query's bodies of all blocks.
    pub(crate) fn answers(
        &self,
        (masks, weights): (&[u8], &[u8]),
        picks: &[Pick],
        bodies: &[Vec<u64>],
    ) -> Vec<Answer> {
        let masks = self.masks(masks, weights, picks);
        let bodies: Vec<Vec<Cipher>> = picks
            .par_iter()
            .zip(bodies)
            .map(|(pick, bodies)| self.pack(pick, &self.numbers(bodies)))
            .collect();
        masks.into_iter().zip(bodies).map(|(masks, bodies)| Answer([masks, bodies].concat())).collect()
    }

    /// The masks that are picked: one pass over those of all blocks, and one over the weights.
    fn masks(&self, masks: &[u8], mut weights: &[u8], picks: &[Pick]) -> Vec<Vec<Cipher>> {
        let (literal, [_, planes], [_, bits]) =
            (self.params.literal(), self.params.planes(), self.params.bits());
        let layout = literal.masks();
        let cut = |pick: &Pick| QueryPlanes::from_u64(&pick.words, planes, &layout);
        let queries: Vec<QueryPlanes> = picks.iter().map(cut).collect();
        let sums = times(masks, &layout, &queries, planes, scan_planes);
        let products = |sums: &Vec<i64>| residues(&self.ring, sums, [2, planes], bits.dropped());
        let products: Vec<Vec<u64>> = sums.iter().map(products).collect();
        let keys: Vec<&Keys> = picks.iter().map(|pick| &pick.keys).collect();
        let (mut all, mut first) = (vec![Vec::new(); picks.len()], 0);
        for (packed, groups) in self.packed.iter().zip(literal.packings()) {
            let (these, rest) = weights.split_at(packed.bytes() as usize);
            let of_these = |products: &Vec<u64>| products.iter().skip(first).copied().collect();
            let products: Vec<Vec<u64>> = products.iter().map(of_these).collect();
            let ciphers = packed.pack(these, &keys, &products);
            all.iter_mut().zip(ciphers).for_each(|(all, ciphers)| all.extend(ciphers));
            (weights, first) = (rest, first + groups.numbers());
        }
        // Of the last group only what there is.
        let [numbers, _] = self.params.groups();
        for all in &mut all {
            all.iter_mut().zip(&numbers).for_each(|([_, body], numbers)| body.truncate(*numbers));
        }
        all
    }

    /// Bodies as numbers of sixteen bits: of each the values in all blocks.
    fn numbers(&self, bodies: &[u64]) -> Vec<Vec<i16>> {
        let [bits, _] = self.params.bits();
        let count = self.params.body_bytes().div_ceil(2);
        let (mut numbers, mut bytes) = (vec![Vec::with_capacity(self.params.blocks()); count], Vec::new());
        for block in bodies.chunks_exact(self.params.numbers()) {
            bytes.clear();
            bits::pack_words(block, bits.body, &mut bytes);
            bytes.resize(2 * count, 0);
            let pairs = bytes.as_chunks().0;
            numbers.iter_mut().zip(pairs).for_each(|(row, pair)| row.push(i16::from_le_bytes(*pair)));
        }
        numbers
    }

    /// Multiplies numbers by the second vector, and packs the products, whose masks nobody could know before.
    fn pack(&self, pick: &Pick, numbers: &[Vec<i16>]) -> Vec<Cipher> {
        let (q, [_, bits]) = (self.ring.q(), self.params.bits());
        let product = |row: &Vec<i16>| self.fresh.fresh_product(row, &pick.words, bits.dropped());
        let group = |(rows, packing): (&[Vec<i16>], &Inspiring)| {
            let mut bodies: Vec<u64> = rows.iter().map(product).collect();
            let mut masks = self.fresh.of_fresh(rows);
            bodies.resize(packing.samples(), 0);
            masks.resize(packing.samples() * N, 0);
            let [mut mask, mut body] = packing.pack(&masks, &bodies, &pick.key);
            self.ring.inverse(Level::Main, &mut mask);
            body.truncate(rows.len());
            [(mask, bits.mask), (body, bits.body)].map(|(exact, bits)| {
                let mut rounded = vec![0; exact.len()];
                round_to_bits(q, &exact, bits, &mut rounded);
                rounded
            })
        };
        numbers.par_chunks(GROUP).zip(&self.packings).map(group).collect()
    }
}

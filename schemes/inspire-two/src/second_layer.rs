//! The second layer of an answer: a second vector selects one of the ciphertexts of all blocks.

use crate::Params;
use crate::literal::GROUP;
use rayon::prelude::*;
use sotto_core::Result;
use sotto_lattice::inspiring::Inspiring;
use sotto_lattice::ring::{ModulusLevel, Ring};
use sotto_math::bits;
use sotto_math::matrix::{PanelLayout, QueryPlanes, scan_planes};
use sotto_silent::groups::Groups;
use sotto_silent::lattice::{self, N, Q_BITS, VECTORS};
use sotto_silent::matrix::times;
use sotto_silent::packed_groups::{MaskLayout, PackedGroups, PackingKeys, residues, rounded};
use sotto_silent::samples::SampleMasks;
use std::ops::Range;

/// Selects masks, or some groups of them.
pub(crate) struct MaskSelector {
    params: Params,
    ring: Ring,
    groups: Range<usize>,
    /// The packings of masks, in the order of their numbers.
    packed: Vec<PackedGroups>,
    packings: Vec<Groups>,
}

/// Selects bodies.
pub struct BodySelector {
    params: Params,
    ring: Ring,
    /// The masks of bodies' products with the second vector, followed by the packings of each group
    /// of bodies.
    fresh: SampleMasks,
    packings: Vec<Inspiring>,
}

/// The mask and the body of a packed ciphertext.
pub(crate) type Ciphertext = [Vec<u64>; 2];

/// The packings of masks, in the order of their numbers.
pub(crate) fn packings(params: &Params, groups: &[Groups]) -> Result<Vec<PackedGroups>> {
    let [_, bits] = params.bits();
    groups.iter().map(|groups| PackedGroups::new(*groups, bits, MaskLayout::Sent)).collect()
}

impl MaskSelector {
    /// A selector for some groups of masks.
    pub(crate) fn new(params: &Params, groups: Range<usize>) -> Result<Self> {
        let packings = params.packings_of(groups.clone());
        let packed = self::packings(params, &packings)?;
        Ok(MaskSelector { params: params.clone(), ring: lattice::ring()?, groups, packed, packings })
    }

    /// The layout of the part's rows of the second matrix.
    pub(crate) fn layout(&self) -> PanelLayout {
        self.params.masks_of(self.groups.clone())
    }

    /// The selected masks: one pass over those of all blocks, and one over the weights.
    pub(crate) fn masks(
        &self,
        masks: &[u8],
        mut weights: &[u8],
        queries: &[&QueryPlanes],
        keys: &[&PackingKeys],
    ) -> Vec<Vec<Ciphertext>> {
        let [_, bits] = self.params.bits();
        let planes = bits.query.div_ceil(8) as usize;
        let sums = times(masks, &self.layout(), queries, planes, scan_planes);
        let products = |sums: &Vec<i64>| residues(&self.ring, sums, [2, planes], bits.dropped());
        let products: Vec<Vec<u64>> = sums.iter().map(products).collect();
        let (mut all, mut first) = (vec![Vec::new(); queries.len()], 0);
        for (packed, groups) in self.packed.iter().zip(&self.packings) {
            let (these, rest) = weights.split_at(packed.bytes() as usize);
            let of_these = |products: &Vec<u64>| products.iter().skip(first).copied().collect();
            let products: Vec<Vec<u64>> = products.iter().map(of_these).collect();
            let ciphers = packed.pack(these, keys, &products);
            all.iter_mut().zip(ciphers).for_each(|(all, ciphers)| all.extend(ciphers));
            (weights, first) = (rest, first + groups.numbers());
        }
        // The last group is cut to its size.
        let [numbers, _] = self.params.groups();
        for all in &mut all {
            let numbers = numbers.iter().skip(self.groups.start);
            all.iter_mut().zip(numbers).for_each(|([_, body], numbers)| body.truncate(*numbers));
        }
        all
    }
}

impl BodySelector {
    pub(crate) fn new(params: &Params) -> Result<Self> {
        let ([_, groups], [_, of_masks]) = (params.groups(), VECTORS);
        let packing = |numbers: &usize| lattice::packing(numbers.next_power_of_two());
        Ok(BodySelector {
            params: params.clone(),
            ring: lattice::ring()?,
            fresh: SampleMasks::under(params.masks(), of_masks)?,
            packings: groups.iter().map(packing).collect::<Result<_>>()?,
        })
    }

    /// The bodies of all blocks that the words of a second vector select, packed with a key.
    pub(crate) fn picked(&self, words: &[u64], key: &[u64], bodies: &[u64]) -> Vec<Ciphertext> {
        let dropped = Q_BITS.saturating_sub(u32::from(self.params.key_bits));
        let slots = |body: &[u64]| {
            let mut slots: Vec<u64> = body.iter().map(|word| self.ring.q().reduce(word << dropped)).collect();
            self.ring.forward(ModulusLevel::Main, &mut slots);
            slots
        };
        let key: Vec<Vec<u64>> = key.chunks_exact(N).map(slots).collect();
        self.pack(words, &key, &self.numbers(bodies))
    }

    /// Bodies as numbers of sixteen bits: for each number its values in all blocks.
    fn numbers(&self, bodies: &[u64]) -> Vec<Vec<i16>> {
        let [bits, _] = self.params.bits();
        let count = self.params.body_bytes().div_ceil(2);
        let (mut numbers, mut bytes) =
            (vec![Vec::with_capacity(self.params.blocks as usize); count], Vec::new());
        for block in bodies.chunks_exact(self.params.numbers()) {
            bytes.clear();
            bits::pack_words(block, bits.body, &mut bytes);
            bytes.resize(2 * count, 0);
            let pairs = bytes.as_chunks().0;
            numbers.iter_mut().zip(pairs).for_each(|(row, pair)| row.push(i16::from_le_bytes(*pair)));
        }
        numbers
    }

    /// Multiplies numbers by the second vector, and packs the products, whose masks cannot be
    /// precomputed.
    fn pack(&self, words: &[u64], key: &[Vec<u64>], numbers: &[Vec<i16>]) -> Vec<Ciphertext> {
        let [_, bits] = self.params.bits();
        let product = |row: &Vec<i16>| self.fresh.fresh_product(row, words, bits.dropped());
        let group = |(rows, packing): (&[Vec<i16>], &Inspiring)| {
            let mut bodies: Vec<u64> = rows.iter().map(product).collect();
            let mut masks = self.fresh.of_fresh(rows);
            bodies.resize(packing.samples(), 0);
            masks.resize(packing.samples() * N, 0);
            let [mut mask, mut body] = packing.pack(&masks, &bodies, key);
            self.ring.inverse(ModulusLevel::Main, &mut mask);
            body.truncate(rows.len());
            [(mask, bits.mask), (body, bits.body)].map(|(exact, bits)| rounded(&self.ring, &exact, bits))
        };
        numbers.par_chunks(GROUP).zip(&self.packings).map(group).collect()
    }
}

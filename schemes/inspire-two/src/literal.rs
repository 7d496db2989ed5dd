//! Parameters as a catalog states them: the number and bytes of records, the number of
//! blocks, and the bits of all messages.

use serde::{Deserialize, Serialize};
use sotto_core::{Costs, work};
use sotto_lattice::noise::log2_sum;
use sotto_math::matrix::PanelLayout;
use sotto_prg::PublicSeed;
use sotto_silent::bound;
use sotto_silent::groups::Groups;
use sotto_silent::lattice::{KEY_WORDS, N, PACKED_OPS, weight_layout};
use sotto_silent::message::packed_bytes;
use sotto_silent::plain_modulus::PlainModulus;
use sotto_silent::unit_vector::{MessageBits, WORD_OPS};
use std::ops::{Range, RangeInclusive};

/// Numbers of a packed ciphertext of the second layer: the maximum that one key packs.
pub const GROUP: usize = N / 2;

/// Maximum bytes of a record: as many numbers as one key packs.
pub const MAX_RECORD_BYTES: u64 = 2 * GROUP as u64;

/// Maximum number of columns, which are words of the first vector.
pub const MAX_COLUMNS: u64 = 1 << 20;

/// Maximum number of blocks, a power of two, which are words of the second vector.
pub const MAX_BLOCKS: u64 = 1 << 16;

/// The range of the bits of a key's coefficient: up to six byte planes.
pub const KEY_BITS: RangeInclusive<u8> = 40..=48;

/// Operations for a client's key.
const KEY_OPS: u64 = 200_000_000;

/// Operations for one number of the first layer: its products of all planes become a residue, which
/// is truncated.
const NUMBER_OPS: u64 = 10_000;

/// Operations for packing one body: its mask, and a switch.
const SWITCH_OPS: u64 = 14_000_000;

/// Parameters as a catalog states them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Name of the ring: [`SET`](sotto_silent::lattice::SET).
    pub set: String,
    /// Bytes in a record, `w`.
    pub record_bytes: u64,
    /// Number of records.
    pub records: u64,
    /// Blocks, `N2`: records in one column. A power of two.
    pub blocks: u64,
    /// Bits of a word of both vectors that are sent.
    pub query_bits: [u8; 2],
    /// Bits of a key's coefficient that are sent.
    pub key_bits: u8,
    /// Bits of a coefficient of the first layer's ciphertexts, from which the second selects: of
    /// masks, of bodies.
    pub inner_bits: [u8; 2],
    /// Bits of a coefficient of an answer: of masks, of bodies.
    pub answer_bits: [u8; 2],
    /// Seed of the public polynomials: [`PUBLIC_SEED`](sotto_silent::lattice::PUBLIC_SEED).
    pub seed: PublicSeed,
}

impl ParamsLiteral {
    /// Columns of the grid: words of the first vector.
    pub fn columns(&self) -> u64 {
        self.records.div_ceil(self.blocks.max(1))
    }

    /// Numbers of a record: two bytes each.
    pub fn numbers(&self) -> usize {
        self.record_bytes.div_ceil(2) as usize
    }

    /// The bits of both layers' messages. The first layer's answer is not sent: the second layer
    /// selects from it.
    pub fn bits(&self) -> [MessageBits; 2] {
        let [first, second] = self.query_bits.map(u32::from);
        let keys = self.key_bits.into();
        let [inner_mask, inner_body] = self.inner_bits.map(u32::from);
        let [mask, body] = self.answer_bits.map(u32::from);
        [
            MessageBits { query: first, keys, mask: inner_mask, body: inner_body },
            MessageBits { query: second, keys, mask, body },
        ]
    }

    /// The layout of the matrix of all records: a column for each column of the grid, block under
    /// block.
    pub fn matrix(&self) -> PanelLayout {
        PanelLayout::new(2 * self.numbers() * self.blocks as usize, self.columns() as usize)
    }

    /// The layout of the weights that pack each block.
    pub fn weights(&self) -> PanelLayout {
        weight_layout(self.numbers(), self.blocks as usize)
    }

    /// The layout of the second matrix: a column for each block, with the bytes of its ciphertext's
    /// mask.
    pub fn masks(&self) -> PanelLayout {
        PanelLayout::new(N / 8 * usize::from(self.inner_bits[0]), self.blocks as usize)
    }

    /// The rows of the second matrix for some groups of masks; without groups, the part with the
    /// first mask has all rows.
    pub fn masks_of(&self, which: Range<usize>) -> PanelLayout {
        let [masks, _] = self.groups();
        let numbers: usize = masks.get(which).unwrap_or_default().iter().sum();
        PanelLayout::new(2 * numbers, self.blocks as usize)
    }

    /// Bytes of a block's bodies.
    pub fn body_bytes(&self) -> usize {
        (self.numbers() * usize::from(self.inner_bits[1])).div_ceil(8)
    }

    /// Words of the second vector: none for one block, whose ciphertext is the answer.
    pub fn picks(&self) -> u64 {
        if self.blocks > 1 { self.blocks } else { 0 }
    }

    /// Numbers of each packed ciphertext of the second layer: first those of masks, then those of
    /// bodies. The size of a packing is the next power of two.
    pub fn groups(&self) -> [Vec<usize>; 2] {
        let of =
            |numbers: usize| (0..numbers).step_by(GROUP).map(|first| GROUP.min(numbers - first)).collect();
        let numbers = [self.masks().rows() / 2, self.body_bytes().div_ceil(2)];
        if self.picks() > 0 { numbers.map(of) } else { [Vec::new(), Vec::new()] }
    }

    /// The packed ciphertexts of an answer: the count of numbers of each, and their bits.
    pub fn parts(&self) -> Vec<(usize, MessageBits)> {
        let [first, second] = self.bits();
        let picked = self.groups().into_iter().flatten().map(|numbers| (numbers, second));
        if self.picks() > 0 { picked.collect() } else { vec![(self.numbers(), first)] }
    }

    /// The packing groups of the masks' numbers: groups of one size, and then smaller ones.
    pub fn packings(&self) -> Vec<Groups> {
        let [masks, _] = self.groups();
        self.packings_of(0..masks.len())
    }

    /// The packing groups of some groups of masks.
    pub fn packings_of(&self, which: Range<usize>) -> Vec<Groups> {
        let [masks, _] = self.groups();
        let masks = masks.get(which).unwrap_or_default();
        let same = masks.chunk_by(|a, b| a.next_power_of_two() == b.next_power_of_two());
        let groups = same.filter_map(|run| Some((run.first()?.next_power_of_two(), run.iter().sum())));
        groups.map(|(size, numbers)| Groups::of(size, numbers, 1)).collect()
    }

    /// The offsets of the section's parts, and its end: matrix, weights, masks, weights of the
    /// masks.
    pub fn starts(&self) -> [u64; 5] {
        let [_, bits] = self.bits();
        let packing = self.packings().iter().map(|groups| groups.bytes(bits.mask)).sum::<u64>();
        let parts = [self.matrix(), self.weights(), self.masks()].map(|layout| layout.bytes() as u64);
        let [matrix, weights, masks] = parts;
        [0, matrix, matrix + weights, matrix + weights + masks, matrix + weights + masks + packing]
    }

    /// Bytes of the image.
    pub(crate) fn image_bytes(&self) -> u64 {
        let [.., end] = self.starts();
        end
    }

    /// Bytes of a query: both vectors, and the bodies of one key.
    pub fn query_bytes(&self) -> u64 {
        let [first, second] = self.query_bits;
        packed_bytes(self.columns(), first)
            + packed_bytes(self.picks(), second)
            + packed_bytes(KEY_WORDS as u64, self.key_bits)
    }

    /// Bytes of an answer: mask and bodies of each packed ciphertext.
    pub fn answer_bytes(&self) -> u64 {
        let part = |(numbers, bits): (usize, MessageBits)| {
            packed_bytes(N as u64, bits.mask as u8) + packed_bytes(numbers as u64, bits.body as u8)
        };
        self.parts().into_iter().map(part).sum()
    }

    /// Bounds on log2 of the failure probability of the first layer, and of the second, if there is
    /// one.
    pub fn failures_log2(&self) -> [f64; 2] {
        let [first, second] = self.bits();
        let numbers = self.numbers();
        let sent = self.groups().iter().flatten().sum::<usize>() as u64;
        let few = |samples, numbers, words, bits| {
            bound::few_failure_log2(samples, numbers, words, PlainModulus::BYTES, bits)
        };
        [
            few(numbers.next_power_of_two(), numbers as u64, self.columns(), first),
            few(GROUP, sent, self.picks(), second),
        ]
    }

    /// Bound on log2 of the probability that a byte of a record comes out wrong.
    pub fn failure_log2(&self) -> f64 {
        let [first, second] = self.failures_log2();
        log2_sum(first, second).min(0.0)
    }

    /// Operations for an answer: every part of the image is read once, and coefficients, numbers and
    /// bodies are packed.
    pub(crate) fn server_ops(&self) -> u64 {
        let [_, bodies] = self.groups();
        let switches: usize = bodies.iter().map(|numbers| numbers.next_power_of_two()).sum();
        self.image_bytes() * work::READ_BYTE
            + (self.parts().len() * N) as u64 * PACKED_OPS
            + self.blocks * self.numbers() as u64 * NUMBER_OPS
            + switches as u64 * SWITCH_OPS
    }

    /// The costs of a lookup.
    pub(crate) fn costs(&self) -> Costs {
        Costs {
            query_bytes: self.query_bytes(),
            answer_bytes: self.answer_bytes(),
            server_ops: self.server_ops(),
            client_ops: KEY_OPS + (self.columns() + self.blocks) * WORD_OPS,
            resident_bytes: self.image_bytes(),
            ..Costs::default()
        }
    }
}

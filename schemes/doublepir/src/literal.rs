//! Parameters as a catalog states them: the layout of the table in two matrices, and the bits of all messages.

use serde::{Deserialize, Serialize};
use sotto_core::{Costs, work};
use sotto_prg::PublicSeed;
use sotto_silent::lwe::ring::N;
use sotto_silent::message::packed_bytes;
use sotto_silent::two_pass::bound::{self, WordNoise};
use sotto_silent::two_pass::{FRESH_BITS, HINT_BITS, TwoPassLayout};
use std::ops::RangeInclusive;

/// The range of the bits of a word of a fresh row's mask.
pub const MASK_BITS: RangeInclusive<u8> = 16..=32;

/// Fresh rows for each byte of a record: a word of the first pass has two bytes.
pub const FRESH_ROWS: usize = FRESH_BITS as usize / 8;

/// Operations for one query word: drawing an error, and the transforms; measured.
const SAMPLE_OPS: u64 = 1500;

/// Operations for one transform of a fresh row.
const TRANSFORM_OPS: u64 = 700_000;

/// Parameters as a catalog states them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Name of the lattice set: [`SET`](sotto_silent::lwe::ring::SET).
    pub set: String,
    /// Bytes in a record, `w`.
    pub record_bytes: u64,
    /// Number of records.
    pub records: u64,
    /// Blocks of rows, `B`: columns of the second matrix.
    pub blocks: u64,
    /// Bits of a word of the first query vector, and of the second.
    pub query_bits: [u8; 2],
    /// Bits of a word of an answer.
    pub answer_bits: u8,
    /// Bits of a word of a fresh row's mask.
    pub mask_bits: u8,
    /// Seed of the public matrix: [`PUBLIC_SEED`](sotto_silent::lwe::ring::PUBLIC_SEED).
    pub seed: PublicSeed,
}

impl ParamsLiteral {
    /// The layout of the table in both matrices.
    pub fn cut(&self) -> TwoPassLayout {
        TwoPassLayout { record_bytes: self.record_bytes, records: self.records, blocks: self.blocks }
    }

    /// Bytes of the hint that clients fetch: a row of n words for each row of the second matrix.
    pub fn hint_bytes(&self) -> u64 {
        self.cut().second_rows() * N as u64 * 4
    }

    /// Bytes of a query: both vectors.
    pub fn query_bytes(&self) -> u64 {
        let [first, second] = self.query_bits;
        packed_bytes(self.cut().columns(), first) + packed_bytes(self.blocks, second)
    }

    /// Words of an answer: those of the second matrix, and those of the fresh rows.
    pub fn answer_words(&self) -> u64 {
        self.cut().second_rows() + self.fresh_rows()
    }

    /// Number of fresh rows.
    pub fn fresh_rows(&self) -> u64 {
        self.record_bytes * FRESH_ROWS as u64
    }

    /// Bytes of an answer: its words, and the masks of the fresh rows.
    pub fn answer_bytes(&self) -> u64 {
        packed_bytes(self.answer_words(), self.answer_bits)
            + packed_bytes(self.fresh_rows() * N as u64, self.mask_bits)
    }

    /// Bound on log2 of the probability that a byte of a record comes out wrong, over both passes.
    pub fn failure_log2(&self) -> f64 {
        let [first, second] = self.words();
        let read = bound::failure_log2(self.record_bytes, &first);
        let fixed = bound::failure_log2(self.cut().second_rows(), &WordNoise { mask_bits: None, ..second });
        let fresh = bound::failure_log2(self.fresh_rows(), &second);
        sotto_silent::log2_sum([read, fixed, fresh])
    }

    /// The sizes that determine the noise of both passes.
    pub fn words(&self) -> [WordNoise; 2] {
        let [first, second] = self.query_bits;
        let (columns, answer_bits) = (self.cut().columns(), FRESH_BITS as u8);
        let mask_bits = Some(HINT_BITS as u8);
        let first = WordNoise { columns, query_bits: first, answer_bits, mask_bits };
        let (columns, mask_bits) = (self.blocks, Some(self.mask_bits));
        [first, WordNoise { columns, query_bits: second, answer_bits: self.answer_bits, mask_bits }]
    }

    /// Work of an answer: both matrices are read once, and the fresh rows' masks are made.
    pub fn server_ops(&self) -> u64 {
        let bytes = self.cut().first_bytes() + self.cut().second_bytes();
        let transforms = self.fresh_rows() * (self.blocks.div_ceil(N as u64) + 1);
        bytes * work::READ_BYTE + transforms * TRANSFORM_OPS
    }

    /// The costs of a lookup.
    pub(crate) fn costs(&self) -> Costs {
        let cut = self.cut();
        let resident = cut.first_bytes() + cut.second_bytes();
        Costs {
            artifact_bytes: self.hint_bytes(),
            query_bytes: self.query_bytes(),
            answer_bytes: self.answer_bytes(),
            server_ops: self.server_ops(),
            // The mask is a product with the whole hint.
            client_ops: self.hint_bytes() * work::READ_BYTE + (cut.columns() + cut.blocks) * SAMPLE_OPS,
            resident_bytes: resident + self.hint_bytes(),
            ..Costs::default()
        }
    }
}

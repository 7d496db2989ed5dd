//! Parameters: the number and bytes of records, the number of blocks, and the bits of all messages.

use crate::sizes::GROUP;
use serde::{Deserialize, Serialize};
use sotto_core::{Costs, ParamsDigest, ParamsReport, Result, Security, TableShape, work};
use sotto_lattice::noise::log2_sum;
use sotto_prg::PublicSeed;
use sotto_silent::bound;
use sotto_silent::lattice::{self, N, PACKED_OPS, SIGMA};
use sotto_silent::limits::{self, MASK_BITS, QUERY_BITS, field, in_range, within};
use sotto_silent::plain_modulus::PlainModulus;
use sotto_silent::unit_vector::{MessageBits, WORD_OPS};
use std::ops::RangeInclusive;

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
    /// Name of the ring: [`SET`](lattice::SET).
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
    /// Seed of the public polynomials: [`PUBLIC_SEED`](lattice::PUBLIC_SEED).
    pub seed: PublicSeed,
}

impl ParamsLiteral {
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
}

/// Checked parameters.
#[derive(Debug, Clone)]
pub struct Params {
    literal: ParamsLiteral,
    security: Security,
    failure_log2: f64,
}

impl Params {
    /// Bytes in a record.
    pub fn record_bytes(&self) -> usize {
        self.literal.record_bytes as usize
    }
    /// Number of records.
    pub fn records(&self) -> u64 {
        self.literal.records
    }
    /// Columns of the grid.
    pub fn columns(&self) -> usize {
        self.literal.columns() as usize
    }
    /// Blocks of a column.
    pub fn blocks(&self) -> usize {
        self.literal.blocks as usize
    }
    /// Numbers of a record.
    pub fn numbers(&self) -> usize {
        self.literal.numbers()
    }
    /// Words of the second vector: none if there is one block.
    pub fn picks(&self) -> usize {
        self.literal.picks() as usize
    }
    /// The bits of both layers' messages.
    pub fn bits(&self) -> [MessageBits; 2] {
        self.literal.bits()
    }
    /// Bytes of a block's bodies.
    pub fn body_bytes(&self) -> usize {
        self.literal.body_bytes()
    }
    /// Numbers of each packed ciphertext of the second layer.
    pub fn groups(&self) -> [Vec<usize>; 2] {
        self.literal.groups()
    }
    /// The position of a record: its column, and the first row of its block.
    pub fn place(&self, record: u64) -> (u64, u64) {
        let blocks = self.literal.blocks;
        (record / blocks, record % blocks * 2 * self.numbers() as u64)
    }
    /// Byte planes into which the server divides the words of both vectors.
    pub fn planes(&self) -> [usize; 2] {
        self.literal.query_bits.map(|bits| usize::from(bits.div_ceil(8)))
    }
}

impl sotto_core::Params for Params {
    type Literal = ParamsLiteral;

    fn select(shape: &TableShape) -> Result<ParamsLiteral> {
        crate::select::select(shape)
    }

    fn check(literal: ParamsLiteral) -> Result<Self> {
        limits::public(&literal.set, &literal.seed)?;
        in_range("record_bytes", literal.record_bytes, MAX_RECORD_BYTES)?;
        in_range("blocks", literal.blocks, MAX_BLOCKS)?;
        if !literal.blocks.is_power_of_two() {
            return Err(field("blocks", "must be a power of two".into()));
        }
        in_range("records", literal.records, literal.blocks * MAX_COLUMNS)?;
        for bits in literal.query_bits {
            within("query_bits", bits, QUERY_BITS)?;
        }
        within("key_bits", literal.key_bits, KEY_BITS)?;
        for (name, [mask, body]) in [("inner_bits", literal.inner_bits), ("answer_bits", literal.answer_bits)]
        {
            within(name, mask, MASK_BITS)?;
            within(name, body, *MASK_BITS.start()..=mask)?;
        }
        let security = lattice::security()?;
        let failure_log2 = literal.failure_log2();
        limits::reliable(failure_log2)?;
        Ok(Params { literal, security, failure_log2 })
    }

    fn literal(&self) -> &ParamsLiteral {
        &self.literal
    }

    fn report(&self) -> ParamsReport {
        let literal = &self.literal;
        let [_, weights, masks, packing, end] = literal.starts();
        let failures = literal.failures_log2();
        ParamsReport {
            digest: ParamsDigest([0; 32]),
            records: literal.records,
            record_bytes: literal.record_bytes,
            costs: Costs {
                query_bytes: literal.query_bytes(),
                answer_bytes: literal.answer_bytes(),
                server_ops: server_ops(literal),
                client_ops: KEY_OPS + (literal.columns() + literal.blocks) * WORD_OPS,
                resident_bytes: end,
                ..Costs::default()
            },
            security: self.security.clone(),
            failure_log2: self.failure_log2,
            details: sotto_core::report_details(|| {
                vec![
                    ("columns", literal.columns().to_string()),
                    ("blocks", literal.blocks.to_string()),
                    ("d", N.to_string()),
                    ("log2 q", format!("{:.3}", (lattice::Q as f64).log2())),
                    ("sigma", SIGMA.to_string()),
                    ("packed ciphertexts", literal.parts().len().to_string()),
                    ("bytes of weights", (masks - weights).to_string()),
                    ("bytes of masks", (packing - masks).to_string()),
                    ("bytes of the masks' weights", (end - packing).to_string()),
                    ("failure of the layers", format!("2^{:.0}, 2^{:.0}", failures[0], failures[1])),
                ]
            }),
        }
    }
}

/// Operations for an answer: every part of the image is read once, and coefficients, numbers and
/// bodies are packed.
pub(crate) fn server_ops(literal: &ParamsLiteral) -> u64 {
    let [_, _, _, _, read] = literal.starts();
    let [_, bodies] = literal.groups();
    let switches: usize = bodies.iter().map(|numbers| numbers.next_power_of_two()).sum();
    read * work::READ_BYTE
        + (literal.parts().len() * N) as u64 * PACKED_OPS
        + literal.blocks * literal.numbers() as u64 * NUMBER_OPS
        + switches as u64 * SWITCH_OPS
}

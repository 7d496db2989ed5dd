//! Parameters: `l` bytes in a record, `m` records, and the bits of all messages.

use serde::{Deserialize, Serialize};
use sotto_core::{Costs, ParamsDigest, ParamsReport, Result, Security, TableShape, work};
use sotto_math::matrix::PanelLayout;
use sotto_prg::PublicSeed;
use sotto_silent::groups::Groups;
use sotto_silent::lattice::{self, N, PACKED_OPS};
use sotto_silent::limits::{self, KEY_BITS, MASK_BITS, QUERY_BITS, in_range, within};
use sotto_silent::message::packed_bytes;
use sotto_silent::plain_modulus::PlainModulus;
use sotto_silent::unit_vector::{KEY_BODIES, KEYS_OPS, MessageBits, WORD_OPS};
use sotto_silent::{bound, lattice::SIGMA};

/// Maximum bytes of a record: 256 packed ciphertexts.
pub const MAX_RECORD_BYTES: u64 = 1 << 20;

/// Maximum number of records. Their noise alone ends a little above, depending on the bits of a
/// query's words.
pub const MAX_RECORDS: u64 = 1 << 20;

/// Parameters as a catalog states them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Name of the ring: [`SET`](lattice::SET).
    pub set: String,
    /// Bytes in a record: rows of the matrix, `l`.
    pub record_bytes: u64,
    /// Number of records: columns of the matrix, `m`.
    pub records: u64,
    /// Bits of a query's word that are sent.
    pub query_bits: u8,
    /// Bits of a key's coefficient that are sent.
    pub key_bits: u8,
    /// Bits of a coefficient of an answer: of masks, of bodies.
    pub answer_bits: [u8; 2],
    /// Seed of the public polynomials: [`PUBLIC_SEED`](lattice::PUBLIC_SEED).
    pub seed: PublicSeed,
}

impl ParamsLiteral {
    /// The bits of all messages.
    pub fn bits(&self) -> MessageBits {
        let [mask, body] = self.answer_bits.map(u32::from);
        MessageBits { query: self.query_bits.into(), keys: self.key_bits.into(), mask, body }
    }

    /// Packed ciphertexts of a record.
    pub fn groups(&self) -> u64 {
        lattice::groups(self.record_bytes)
    }

    /// Bytes of a query: its words, and the bodies of two keys.
    pub fn query_bytes(&self) -> u64 {
        packed_bytes(self.records, self.query_bits)
            + KEY_BODIES as u64 * packed_bytes(N as u64, self.key_bits)
    }

    /// Bytes of an answer: a mask and a body for each group.
    pub fn answer_bytes(&self) -> u64 {
        let [mask, body] = self.answer_bits.map(|bits| packed_bytes(N as u64, bits));
        self.groups() * (mask + body)
    }

    /// Bytes of the matrix in an image: rows padded to 64, columns to 4.
    pub fn matrix_bytes(&self) -> u64 {
        self.record_bytes.next_multiple_of(64) * self.records.next_multiple_of(4)
    }

    /// The packing groups of a record's numbers.
    pub fn packing(&self) -> Groups {
        Groups::new(self.record_bytes.div_ceil(2) as usize, 1)
    }

    /// Bytes of the weights and masks after the matrix.
    pub fn weight_bytes(&self) -> u64 {
        self.packing().bytes(self.bits().mask)
    }

    /// Bound on log2 of the probability that a byte of a record comes out wrong.
    pub fn failure_log2(&self) -> f64 {
        bound::number_failure_log2(
            self.record_bytes.div_ceil(2),
            self.records,
            PlainModulus::BYTES,
            self.bits(),
        )
    }
}

/// Checked parameters.
#[derive(Debug, Clone)]
pub struct Params {
    literal: ParamsLiteral,
    l: usize,
    m: usize,
    security: Security,
    failure_log2: f64,
}

impl Params {
    /// Rows of the matrix: bytes in a record.
    pub fn l(&self) -> usize {
        self.l
    }
    /// Columns of the matrix: number of records.
    pub fn m(&self) -> usize {
        self.m
    }
    /// Packed ciphertexts of a record.
    pub fn groups(&self) -> usize {
        lattice::groups(self.l as u64) as usize
    }
    /// The bits of all messages.
    pub fn bits(&self) -> MessageBits {
        self.literal.bits()
    }
    /// Byte planes into which the server divides a query word.
    pub fn planes(&self) -> usize {
        usize::from(self.literal.query_bits.div_ceil(8))
    }
    /// The layout of the matrix.
    pub fn layout(&self) -> PanelLayout {
        PanelLayout::new(self.l, self.m)
    }
}

impl sotto_core::Params for Params {
    type Literal = ParamsLiteral;

    fn select(shape: &TableShape) -> Result<ParamsLiteral> {
        crate::select::select(shape)
    }

    fn check(literal: ParamsLiteral) -> Result<Self> {
        limits::public(&literal.set, &literal.seed)?;
        let l = in_range("record_bytes", literal.record_bytes, MAX_RECORD_BYTES)?;
        let m = in_range("records", literal.records, MAX_RECORDS)?;
        within("query_bits", literal.query_bits, QUERY_BITS)?;
        within("key_bits", literal.key_bits, KEY_BITS)?;
        let [mask, body] = literal.answer_bits;
        within("answer_bits", mask, MASK_BITS)?;
        within("answer_bits", body, *MASK_BITS.start()..=mask)?;
        let security = lattice::security()?;
        let failure_log2 = literal.failure_log2();
        limits::reliable(failure_log2)?;
        Ok(Params { literal, l, m, security, failure_log2 })
    }

    fn literal(&self) -> &ParamsLiteral {
        &self.literal
    }

    fn report(&self) -> ParamsReport {
        let literal = &self.literal;
        let ([errors, roundings], margin) =
            bound::variances_and_margin(literal.records, PlainModulus::BYTES, 1, literal.bits());
        let resident = literal.matrix_bytes() + literal.weight_bytes();
        ParamsReport {
            digest: ParamsDigest([0; 32]),
            records: literal.records,
            record_bytes: literal.record_bytes,
            costs: Costs {
                query_bytes: literal.query_bytes(),
                answer_bytes: literal.answer_bytes(),
                server_ops: server_ops(literal),
                client_ops: KEYS_OPS + literal.records * WORD_OPS,
                resident_bytes: resident,
                ..Costs::default()
            },
            security: self.security.clone(),
            failure_log2: self.failure_log2,
            details: sotto_core::report_details(|| {
                vec![
                    ("l", literal.record_bytes.to_string()),
                    ("m", literal.records.to_string()),
                    ("d", N.to_string()),
                    ("log2 q", format!("{:.3}", (lattice::Q as f64).log2())),
                    ("sigma", SIGMA.to_string()),
                    ("packed ciphertexts", literal.groups().to_string()),
                    ("byte planes", self.planes().to_string()),
                    ("bytes of weights", literal.weight_bytes().to_string()),
                    ("errors", format!("2^{:.1} of a margin of 2^{:.1}", errors.log2() / 2.0, margin.log2())),
                    ("roundings", format!("2^{:.1}", roundings.log2() / 2.0)),
                ]
            }),
        }
    }
}

/// Operations for an answer: both passes read their tables once, and each coefficient is packed.
pub(crate) fn server_ops(literal: &ParamsLiteral) -> u64 {
    (literal.matrix_bytes() + literal.weight_bytes()) * work::READ_BYTE
        + literal.groups() * N as u64 * PACKED_OPS
}

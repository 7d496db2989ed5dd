//! Parameters as a catalog states them: the layout of the table in two matrices, and the bits of all messages.

use serde::{Deserialize, Serialize};
use sotto_core::{Costs, work};
use sotto_prg::PublicSeed;
use sotto_silent::bound;
use sotto_silent::groups::Groups;
use sotto_silent::lattice::{self, N, PACKED_OPS};
use sotto_silent::lwe::ring;
use sotto_silent::message::packed_bytes;
use sotto_silent::plain_modulus::PlainModulus;
use sotto_silent::two_pass::bound::{WordNoise, failure_log2};
use sotto_silent::two_pass::{FRESH_BITS, HINT_BITS, TwoPassLayout};
use sotto_silent::unit_vector::{KEY_BODIES, KEYS_OPS, MessageBits, WORD_OPS};

/// The names of the sets of both passes.
pub const SETS: [&str; 2] = [ring::SET, lattice::SET];

/// The seeds of the public polynomials of both passes.
pub const PUBLIC_SEEDS: [PublicSeed; 2] = [ring::PUBLIC_SEED, lattice::PUBLIC_SEED];

/// Operations for one word of the first query: drawing an error, and the transforms; measured.
const SAMPLE_OPS: u64 = 1500;

/// Operations for one transform of fresh numbers.
const TRANSFORM_OPS: u64 = 3_000_000;

/// Parameters as a catalog states them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Names of the sets of both passes: [`SETS`].
    pub sets: [String; 2],
    /// Bytes in a record, `w`.
    pub record_bytes: u64,
    /// Number of records.
    pub records: u64,
    /// Blocks of rows, `B`: columns of the second matrix.
    pub blocks: u64,
    /// Bits of a word of the first query vector, and of the second.
    pub query_bits: [u8; 2],
    /// Bits of a key's coefficient that are sent.
    pub key_bits: u8,
    /// Bits of a coefficient of an answer: of masks, of bodies.
    pub answer_bits: [u8; 2],
    /// Seeds of the public polynomials of both passes: [`PUBLIC_SEEDS`].
    pub seeds: [PublicSeed; 2],
}

impl ParamsLiteral {
    /// The layout of the table in both matrices.
    pub fn cut(&self) -> TwoPassLayout {
        TwoPassLayout { record_bytes: self.record_bytes, records: self.records, blocks: self.blocks }
    }

    /// The bits of the second query, and of answers.
    pub fn bits(&self) -> MessageBits {
        let ([_, query], [mask, body]) = (self.query_bits, self.answer_bits.map(u32::from));
        MessageBits { query: query.into(), keys: self.key_bits.into(), mask, body }
    }

    /// Numbers of two bytes in a column of the second matrix.
    pub fn numbers(&self) -> u64 {
        self.cut().second_rows() / 2
    }

    /// Packed ciphertexts of these numbers.
    pub fn groups(&self) -> u64 {
        lattice::groups(self.cut().second_rows())
    }

    /// Bytes of a query: both vectors, and the keys of the second.
    pub fn query_bytes(&self) -> u64 {
        let [first, second] = self.query_bits;
        packed_bytes(self.cut().columns(), first)
            + packed_bytes(self.blocks, second)
            + KEY_BODIES as u64 * packed_bytes(N as u64, self.key_bits)
    }

    /// Bytes of an answer: for each group a mask and the used coefficients, for each fresh word a
    /// mask and one coefficient.
    pub fn answer_bytes(&self) -> u64 {
        let [mask, body] = self.answer_bits;
        let masks = (self.groups() + self.record_bytes) * packed_bytes(N as u64, mask);
        let last = self.numbers() - (self.groups() - 1) * N as u64;
        let bodies = (self.groups() - 1) * packed_bytes(N as u64, body) + packed_bytes(last, body);
        masks + bodies + self.record_bytes * packed_bytes(1, body)
    }

    /// The packing groups of the second matrix's numbers.
    pub fn packing(&self) -> Groups {
        Groups::new(self.numbers() as usize, 1)
    }

    /// Bytes of weights and masks in an image.
    pub fn weight_bytes(&self) -> u64 {
        self.packing().bytes(self.bits().mask)
    }

    /// The sizes that determine the noise of the first pass.
    pub fn words(&self) -> WordNoise {
        let [query_bits, _] = self.query_bits;
        let (answer_bits, mask_bits) = (FRESH_BITS as u8, Some(HINT_BITS as u8));
        WordNoise { columns: self.cut().columns(), query_bits, answer_bits, mask_bits }
    }

    /// Bound on log2 of the probability that a byte of a record comes out wrong, over both passes.
    pub fn failure_log2(&self) -> f64 {
        let read = failure_log2(self.record_bytes, &self.words());
        let packed =
            bound::number_failure_log2(self.numbers(), self.blocks, PlainModulus::BYTES, self.bits());
        let fresh =
            bound::few_failure_log2(1, self.record_bytes, self.blocks, PlainModulus::BYTES, self.bits());
        sotto_silent::log2_sum([read, packed, fresh])
    }

    /// Operations for an answer: both matrices and the weights are read once, coefficients are
    /// packed, and the fresh masks are made.
    pub fn server_ops(&self) -> u64 {
        let read = self.cut().first_bytes() + self.cut().second_bytes() + self.weight_bytes();
        let transforms = self.record_bytes * (self.blocks.div_ceil(N as u64) + 1);
        read * work::READ_BYTE + self.groups() * N as u64 * PACKED_OPS + transforms * TRANSFORM_OPS
    }

    /// The costs of a lookup.
    pub(crate) fn costs(&self) -> Costs {
        let cut = self.cut();
        Costs {
            query_bytes: self.query_bytes(),
            answer_bytes: self.answer_bytes(),
            server_ops: self.server_ops(),
            client_ops: KEYS_OPS + cut.columns() * SAMPLE_OPS + cut.blocks * WORD_OPS,
            resident_bytes: cut.first_bytes() + cut.second_bytes() + self.weight_bytes(),
            ..Costs::default()
        }
    }
}

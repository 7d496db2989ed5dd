//! Parameters as a catalog states them: `l` bytes in a record, `m` records, and the bits of
//! all messages.

use serde::{Deserialize, Serialize};
use sotto_core::{Costs, work};
use sotto_prg::PublicSeed;
use sotto_silent::bound;
use sotto_silent::groups::Groups;
use sotto_silent::lattice::{self, N, PACKED_OPS};
use sotto_silent::message::packed_bytes;
use sotto_silent::plain_modulus::PlainModulus;
use sotto_silent::unit_vector::{KEY_BODIES, KEYS_OPS, MessageBits, WORD_OPS};

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

    /// Operations for an answer: both passes read their tables once, and each coefficient is packed.
    pub(crate) fn server_ops(&self) -> u64 {
        (self.matrix_bytes() + self.weight_bytes()) * work::READ_BYTE + self.groups() * N as u64 * PACKED_OPS
    }

    /// The costs of a lookup.
    pub(crate) fn costs(&self) -> Costs {
        Costs {
            query_bytes: self.query_bytes(),
            answer_bytes: self.answer_bytes(),
            server_ops: self.server_ops(),
            client_ops: KEYS_OPS + self.records * WORD_OPS,
            resident_bytes: self.matrix_bytes() + self.weight_bytes(),
            ..Costs::default()
        }
    }
}

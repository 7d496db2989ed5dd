//! Parameters as a catalog states them: bytes and number of records, `t` records to a
//! column, and the bits of all messages.

use crate::selector::{BODY_DIGITS, MASK_DIGITS};
use crate::{bound, numbers};
use serde::{Deserialize, Serialize};
use sotto_core::{Costs, work};
use sotto_prg::PublicSeed;
use sotto_silent::groups::Groups;
use sotto_silent::lattice::{GROUP_BYTES, N, PACKED_OPS, Q_BITS};
use sotto_silent::message::packed_bytes;
use sotto_silent::unit_vector::{KEY_BODIES, MessageBits, WORD_OPS};
use std::ops::RangeInclusive;

/// Maximum bytes of a record: 274 ciphertexts.
pub const MAX_RECORD_BYTES: u64 = 1 << 20;

/// Maximum number of columns.
pub const MAX_COLUMNS: u64 = 1 << 20;

/// Possible numbers of records in a column. With 16 the digits of packing alone could fill the
/// margin.
pub const PLACES: [u64; 3] = [2, 4, 8];

/// The range of the bits of a selector's coefficient.
pub const SELECTOR_BITS: RangeInclusive<u8> = 32..=Q_BITS as u8;

/// The range of the bits of a mask's coefficient in an answer; up to 37 the client's product with
/// the mask is exact.
pub const MASK_BITS: RangeInclusive<u8> = 17..=37;

/// Operations for a client's keys and selector, measured.
const KEYS_OPS: u64 = 300_000_000;

/// Operations for a product with the selector, measured.
const PRODUCT_OPS: u64 = 10_500_000;

/// Parameters as a catalog states them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Name of the ring: [`SET`](sotto_silent::lattice::SET).
    pub set: String,
    /// Bytes in a record.
    pub record_bytes: u64,
    /// Number of records.
    pub records: u64,
    /// Number of records in a column, `t`: a power of two.
    pub places: u64,
    /// Bits of a query's word that are sent.
    pub query_bits: u8,
    /// Bits of a key's coefficient that are sent.
    pub key_bits: u8,
    /// Bits of a coefficient of the selector: of its rows for masks, and for bodies.
    pub selector_bits: [u8; 2],
    /// Bits of a coefficient of an answer: of masks, of bodies.
    pub answer_bits: [u8; 2],
    /// Seed of the public polynomials: [`PUBLIC_SEED`](sotto_silent::lattice::PUBLIC_SEED).
    pub seed: PublicSeed,
}

impl ParamsLiteral {
    /// The bits of all messages except for the selector's.
    pub fn bits(&self) -> MessageBits {
        let [mask, body] = self.answer_bits.map(u32::from);
        MessageBits { query: self.query_bits.into(), keys: self.key_bits.into(), mask, body }
    }

    /// Columns of the matrix, `m`.
    pub fn columns(&self) -> u64 {
        self.records.div_ceil(self.places.max(1))
    }

    /// Groups of a record's numbers, `G`: ciphertexts of an answer.
    pub fn groups(&self) -> u64 {
        numbers::groups(self.record_bytes)
    }

    /// Groups of a column's numbers: packed ciphertexts.
    pub fn packed(&self) -> u64 {
        self.groups() * self.places
    }

    /// Bytes of a query: its words, the bodies of two keys, and those of the selector.
    pub fn query_bytes(&self) -> u64 {
        let polynomials = |count: u64, bits| count * packed_bytes(N as u64, bits);
        let [masks, bodies] = self.selector_bits;
        packed_bytes(self.columns(), self.query_bits)
            + polynomials(KEY_BODIES as u64, self.key_bits)
            + polynomials(MASK_DIGITS.count.into(), masks)
            + polynomials(BODY_DIGITS.count.into(), bodies)
    }

    /// Bytes of an answer: a mask and a body for each group.
    pub fn answer_bytes(&self) -> u64 {
        let [mask, body] = self.answer_bits.map(|bits| packed_bytes(N as u64, bits));
        self.groups() * (mask + body)
    }

    /// Bytes of the matrix in an image: columns padded to 4.
    pub fn matrix_bytes(&self) -> u64 {
        self.packed() * GROUP_BYTES as u64 * self.columns().next_multiple_of(4)
    }

    /// The packing groups of the numbers of all polynomials. Rotations leave no place of one free.
    pub fn packing(&self) -> Groups {
        Groups::new(N * self.packed() as usize, 1)
    }

    /// Bytes of the weights and masks after the matrix.
    pub fn weight_bytes(&self) -> u64 {
        self.packing().bytes(Q_BITS)
    }

    /// Bound on log2 of the probability that a byte of a record comes out wrong.
    pub fn failure_log2(&self) -> f64 {
        let numbers = numbers::numbers(self.record_bytes);
        let selector = self.selector_bits.map(u32::from);
        bound::failure_log2(numbers, self.columns(), self.places, self.bits(), selector)
    }

    /// Operations for an answer: both passes read their tables once, each coefficient is packed, and
    /// each group evaluated.
    pub(crate) fn server_ops(&self) -> u64 {
        (self.matrix_bytes() + self.weight_bytes()) * work::READ_BYTE
            + self.packed() * N as u64 * PACKED_OPS
            + self.groups() * self.places.saturating_sub(1) * PRODUCT_OPS
    }

    /// The costs of a lookup.
    pub(crate) fn costs(&self) -> Costs {
        Costs {
            query_bytes: self.query_bytes(),
            answer_bytes: self.answer_bytes(),
            server_ops: self.server_ops(),
            client_ops: KEYS_OPS + self.columns() * WORD_OPS,
            resident_bytes: self.matrix_bytes() + self.weight_bytes(),
            ..Costs::default()
        }
    }
}

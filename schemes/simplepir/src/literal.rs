//! Parameters as a catalog states them: `l` bytes in a record, `m` records, `b` bits in a
//! query word, `t` bits in an answer word.

use serde::{Deserialize, Serialize};
use sotto_core::{Costs, work};
use sotto_prg::PublicSeed;
use sotto_silent::lwe::dense::{DenseLwe, FRODO};
use sotto_silent::lwe::ring::N;
use sotto_silent::message::packed_bytes;

/// The lattice set of all literals except for those of [`FRODO`]; [`ring`](sotto_silent::lwe::ring) holds its numbers.
pub use sotto_silent::lwe::ring::SET;

/// The set that is only used by name: FrodoPIR's matrix over its lattice set, [`FRODO`].
pub const FRODO_SET: &str = "frodo";

/// Maximum bytes of a record: with this many the hint is 4 GiB, the most that a client may have to
/// hold.
pub const MAX_RECORD_BYTES: u64 = 1 << 20;

/// Maximum number of records. The noise bound alone ends a little above or below, depending on the
/// other parameters; this keeps every size far from overflow.
pub const MAX_RECORDS: u64 = 1 << 19;

/// Maximum number of records with [`FRODO`]: queries are 64 MiB then. The noise bound alone ends at
/// some 2^26.
pub const MAX_FRODO_RECORDS: u64 = 1 << 24;

/// Operations for one query word: drawing an error, and the transforms; measured.
pub(crate) const SAMPLE_OPS: u64 = 1500;

/// Operations for one query word over a dense matrix, whose n words are computed; measured.
const DENSE_OPS: u64 = 1_200_000;

/// Parameters as a catalog states them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Name of the lattice set: [`SET`], or that of [`FRODO`].
    pub set: String,
    /// Bytes in a record: rows of the matrix, `l`.
    pub record_bytes: u64,
    /// Number of records: columns of the matrix, `m`.
    pub records: u64,
    /// Bits in a query word, `b`; 32 with [`FRODO`].
    pub query_bits: u8,
    /// Bits in an answer word, `t`.
    pub answer_bits: u8,
    /// Seed of the public matrix: [`PUBLIC_SEED`](sotto_silent::lwe::ring::PUBLIC_SEED).
    pub seed: PublicSeed,
}

/// Bytes of a matrix in panels: rows padded to 64, columns to 4.
pub(crate) fn matrix_bytes(record_bytes: u64, records: u64) -> u64 {
    record_bytes.next_multiple_of(64) * records.next_multiple_of(4)
}

impl ParamsLiteral {
    /// The lattice, if it is not the one with rings.
    pub fn dense(&self) -> Option<DenseLwe> {
        Some(FRODO).filter(|dense| self.set == dense.name)
    }

    /// Words in a row of the hint: the lattice's dimension.
    pub fn n(&self) -> usize {
        self.dense().map_or(N, |dense| dense.n)
    }

    /// Bytes of the hint: l rows of n words.
    pub fn hint_bytes(&self) -> u64 {
        self.record_bytes * (self.n() as u64) * 4
    }

    /// Bytes of the matrix at the server: rows padded to 64, columns to 4.
    pub fn matrix_bytes(&self) -> u64 {
        matrix_bytes(self.record_bytes, self.records)
    }

    /// Bytes of a query: its words.
    pub fn query_bytes(&self) -> u64 {
        packed_bytes(self.records, self.query_bits)
    }

    /// Bytes of an answer: its words.
    pub fn answer_bytes(&self) -> u64 {
        packed_bytes(self.record_bytes, self.answer_bits)
    }

    /// The costs of a lookup.
    pub(crate) fn costs(&self) -> Costs {
        let word_ops = if self.dense().is_some() { DENSE_OPS } else { SAMPLE_OPS };
        Costs {
            artifact_bytes: self.hint_bytes(),
            query_bytes: self.query_bytes(),
            answer_bytes: self.answer_bytes(),
            // At most four planes: the products are made while the matrix comes from memory.
            server_ops: self.matrix_bytes() * work::READ_BYTE,
            // The mask is a product with the whole hint.
            client_ops: self.hint_bytes() * work::READ_BYTE + self.records * word_ops,
            resident_bytes: self.matrix_bytes() + self.hint_bytes(),
            ..Costs::default()
        }
    }
}

//! Parameters as a catalog states them: `l` bytes in a record, `m` records, and R rows in a block of LinPIR.

use crate::linpir::{self, RINGS};
use serde::{Deserialize, Serialize};
use sotto_core::{Costs, work};
use sotto_prg::PublicSeed;

/// Maximum bytes of a record: the diagonals of as many rows are 56 GB.
pub const MAX_RECORD_BYTES: u64 = 1 << 20;

/// Maximum number of records. The noise bound alone would end a little above.
pub const MAX_RECORDS: u64 = 1 << 20;

/// Seed of all public polynomials and matrices: BLAKE3 of [`PUBLIC_SENTENCE`]. No server can choose
/// it.
pub const PUBLIC_SEED: PublicSeed = PublicSeed([
    0xe9, 0x8f, 0x6d, 0x4d, 0x9e, 0x89, 0x1c, 0xaa, //
    0x88, 0xc3, 0xd6, 0xb9, 0x2f, 0xfc, 0x56, 0xe4, //
    0x34, 0x37, 0xb0, 0xb4, 0xe9, 0xfa, 0xaf, 0x4f, //
    0x02, 0x1f, 0xf0, 0x6f, 0x0c, 0x81, 0xd0, 0x9a, //
]);

/// The sentence whose digest is [`PUBLIC_SEED`].
pub const PUBLIC_SENTENCE: &str = "sotto hintless/1: the public matrix and masks are the same for everyone";

/// Operations for a word of a query: n words of A are made for each; measured.
const WORD_OPS: u64 = 1_000_000;

/// Operations for encrypting s with its keys, and for reading a block, measured.
const SECRET_OPS: u64 = 500_000_000;
const BLOCK_OPS: u64 = 30_000_000;

/// Operations for a rotation after the passes, measured.
const ROTATION_OPS: u64 = 25_000_000;

/// Parameters as a catalog states them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Name of the LWE set: that of [`HINTLESS`](sotto_silent::lwe::dense::HINTLESS).
    pub set: String,
    /// Bytes in a record: rows of the matrix, `l`.
    pub record_bytes: u64,
    /// Number of records: columns of the matrix, `m`.
    pub records: u64,
    /// Rows of the hint in a block, R: a power of two.
    pub block_rows: u64,
    /// Seed of the public matrix and masks: [`PUBLIC_SEED`].
    pub seed: PublicSeed,
}

impl ParamsLiteral {
    /// Blocks of a record's rows.
    pub fn blocks(&self) -> u64 {
        self.record_bytes.div_ceil(self.block_rows)
    }

    /// Bytes of a query: a word for each record, and its secret under encryption.
    pub fn query_bytes(&self) -> u64 {
        4 * self.records + linpir::query_bytes()
    }

    /// Bytes of an answer: a word for each byte, and the ciphertexts of all blocks.
    pub fn answer_bytes(&self) -> u64 {
        4 * self.record_bytes + linpir::answer_bytes(self.blocks())
    }

    /// Bytes of the matrix in an image: rows padded to 64, columns to 4.
    pub fn matrix_bytes(&self) -> u64 {
        self.record_bytes.next_multiple_of(64) * self.records.next_multiple_of(4)
    }

    /// Bytes of the precomputed data beside the matrix.
    pub fn linpir_bytes(&self) -> u64 {
        linpir::image_bytes(self.blocks(), self.block_rows)
    }

    /// Operations for an answer: the passes read their tables once, and each rotation takes
    /// transforms.
    pub(crate) fn server_ops(&self) -> u64 {
        self.matrix_bytes() * work::READ_BYTE + self.ring_ops().iter().sum::<u64>()
    }

    /// Operations for an answer in each ring.
    pub(crate) fn ring_ops(&self) -> [u64; RINGS] {
        let bytes = linpir::ring_bytes(self.blocks(), self.block_rows);
        bytes.map(|bytes| bytes * work::READ_BYTE + self.block_rows / 2 * ROTATION_OPS)
    }

    /// The costs of a lookup.
    pub(crate) fn costs(&self) -> Costs {
        Costs {
            query_bytes: self.query_bytes(),
            answer_bytes: self.answer_bytes(),
            server_ops: self.server_ops(),
            client_ops: self.records * WORD_OPS + SECRET_OPS + self.blocks() * BLOCK_OPS,
            resident_bytes: self.matrix_bytes() + self.linpir_bytes(),
            ..Costs::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_is_the_digest_of_a_sentence() {
        assert_eq!(PUBLIC_SEED.0, *blake3::hash(PUBLIC_SENTENCE.as_bytes()).as_bytes());
    }
}

//! What is written into a catalog: public numbers, enough to make everything else.

use serde::{Deserialize, Serialize};
use sotto_prg::PublicSeed;

/// The seed in literals that were selected for a table whose rows nobody has read. No table is published with it.
pub const NO_TABLES_MASK: PublicSeed = PublicSeed([0; 32]);

/// What is written into a catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Literal {
    /// Name of the ring: see [`rings`](crate::rings).
    pub ring: String,
    /// How many records, of all buckets.
    pub records: u64,
    /// How many buckets, of equally many records.
    pub buckets: u32,
    /// Numbers of a plaintext that a record takes.
    pub record_words: u32,
    /// Parts of a record that lie beside each other in every plaintext; 1 of whole plaintexts.
    pub split: u32,
    /// Plaintexts that one selector each is multiplied by, for one sum.
    pub rows: u32,
    /// Columns whose sums share an answer.
    pub merged: u32,
    /// Primes that plaintexts are multiplied at.
    pub primes: u8,
    /// Ciphertexts of a query.
    pub queries: u32,
    /// Bits of a coefficient of an answer: of its body, and of its mask.
    pub answer_bits: [u8; 2],
    /// Rows of a sum that may be written under one mask: those which the failure bound takes at their worst.
    pub written: u32,
    /// Seed of the public mask on the data.
    pub mask: PublicSeed,
}

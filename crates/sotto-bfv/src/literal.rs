//! Literal parameters: public numbers in a catalog, from which everything else is derived.

use serde::{Deserialize, Serialize};
use sotto_prg::PublicSeed;

/// The seed in literals that were selected without reading a table's rows. No table is published
/// with it.
pub const NO_TABLES_MASK: PublicSeed = PublicSeed([0; 32]);

/// The parameters that are written into a catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Literal {
    /// Name of the ring: see [`rings`](crate::rings).
    pub ring: String,
    /// Number of records in all buckets.
    pub records: u64,
    /// Number of buckets, which have equally many records.
    pub buckets: u32,
    /// Numbers of plaintexts that a record takes.
    pub record_words: u32,
    /// Parts of a record that are next to each other in every plaintext; 1 for whole plaintexts.
    pub split: u32,
    /// Plaintexts that are multiplied by one selector each for one sum.
    pub rows: u32,
    /// Columns whose sums share an answer.
    pub merged: u32,
    /// Number of primes that plaintexts are multiplied at.
    pub primes: u8,
    /// Number of ciphertexts of a query.
    pub queries: u32,
    /// Places by which a second rotation key rotates a query, or 1 where there is none: see
    /// [`Rotations`](sotto_lattice::bgv::rotation_grid::Rotations).
    #[serde(default = "no_stride", skip_serializing_if = "is_no_stride")]
    pub stride: u32,
    /// Bits of a coefficient of an answer: of its body, and of its mask.
    pub answer_bits: [u8; 2],
    /// Rows of a sum that may be written under one whitening seed; the failure bound assumes their
    /// worst values.
    pub written: u32,
    /// Seed of the whitening stream.
    pub mask: PublicSeed,
}

/// The default stride, which is omitted.
fn no_stride() -> u32 {
    1
}

fn is_no_stride(stride: &u32) -> bool {
    *stride == no_stride()
}

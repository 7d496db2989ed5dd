//! The yardstick of the BGV-PIR paper: one bit by quadratic residues, which takes a multiplication for each bit of the table.

use serde::Serialize;

/// Kushilevitz and Ostrovsky's protocol: what was measured of it, and what follows from that.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Residues {
    /// Bits of the modulus.
    pub modulus_bits: u64,
    /// Measured: drawing a client's two primes.
    pub keygen_ms: f64,
    /// Measured: one multiplication, median of runs of many.
    pub multiplication_ns: f64,
    /// Bits of a small table that was answered for real.
    pub small_table_bits: u64,
    /// Measured: the answer about it.
    pub small_server_ms: f64,
    /// What a multiplication for each bit foretold of it.
    pub small_foretold_ms: f64,
    /// Bits of that answer compared with the table; all were right.
    pub checked_answers_count: u64,
    /// Foretold.
    pub tables: Vec<ResiduesTable>,
}

/// What a lookup would take in a table, by a multiplication for each of its bits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResiduesTable {
    /// Bits of the table.
    pub table_bits: u64,
    /// Time of the server.
    pub server_s: f64,
    /// Up, per lookup: a number for each column of a square.
    pub up_bytes: u64,
    /// Down, per lookup: a number for each row.
    pub down_bytes: u64,
}

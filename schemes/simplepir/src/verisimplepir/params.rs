//! Parameters: `l` bytes in a record, `m` records. All words are modulo Q, so there is nothing else to choose.

use crate::params::{MAX_RECORDS, SAMPLE_OPS, matrix_bytes, reliable, shape};
use serde::{Deserialize, Serialize};
use sotto_core::{Costs, ParamsDigest, ParamsReport, Result, Security, TableShape, work};
use sotto_math::matrix::PanelLayout;
use sotto_prg::PublicSeed;
use sotto_silent::lwe::bound;
use sotto_silent::lwe::ring::{self, LOG2_Q, N, SIGMA};

/// Number of equations that an answer must satisfy: each fails for a wrong answer except with
/// probability 1/Q.
pub const EQUATIONS: usize = 4;

/// log2 of a bound on the probability that all equations hold for a wrong answer.
pub const FORGED_LOG2: f64 = -127.99;

/// Operations for one word of a query or an answer in all equations, measured.
const CHECK_OPS: u64 = 1500;

/// Parameters as a catalog states them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Name of the lattice set: [`crate::params::SET`].
    pub set: String,
    /// Bytes in a record: rows of the matrix, `l`.
    pub record_bytes: u64,
    /// Number of records: columns of the matrix, `m`.
    pub records: u64,
    /// Seed of the public matrix: [`sotto_silent::lwe::ring::PUBLIC_SEED`].
    pub seed: PublicSeed,
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
    /// Ring blocks that cover the columns.
    pub fn blocks(&self) -> usize {
        self.m.div_ceil(N)
    }
    /// Bytes of the table: the matrix in panels, which clients stream and servers scan.
    pub fn table_bytes(&self) -> u64 {
        matrix_bytes(self.literal.record_bytes, self.literal.records)
    }
    /// Bytes of the hint, which clients compute and store: l rows of n words.
    pub fn hint_bytes(&self) -> u64 {
        self.literal.record_bytes * (N as u64) * 4
    }
    /// The layout of the matrix.
    pub fn layout(&self) -> PanelLayout {
        PanelLayout::new(self.l, self.m)
    }
}

impl sotto_core::Params for Params {
    type Literal = ParamsLiteral;

    fn select(shape: &TableShape) -> Result<ParamsLiteral> {
        super::select::select(shape)
    }

    fn check(literal: ParamsLiteral) -> Result<Self> {
        let (l, m) =
            shape(&literal.set, &literal.seed, [literal.record_bytes, literal.records], MAX_RECORDS)?;
        let failure_log2 = reliable(bound::exact_failure_log2(literal.record_bytes, literal.records))?;
        Ok(Params { literal, l, m, security: ring::security()?, failure_log2 })
    }

    fn literal(&self) -> &ParamsLiteral {
        &self.literal
    }

    fn report(&self) -> ParamsReport {
        let ParamsLiteral { record_bytes, records, .. } = self.literal;
        let (deviation, margin) = bound::exact_deviation_and_margin(records);
        ParamsReport {
            digest: ParamsDigest([0; 32]),
            records,
            record_bytes,
            costs: Costs {
                artifact_bytes: self.table_bytes(),
                keys_bytes: 0,
                query_bytes: records * 4,
                answer_bytes: record_bytes * 4,
                // Four planes: the products are made while the matrix comes from memory.
                server_ops: self.table_bytes() * work::READ_BYTE,
                client_ops: self.hint_bytes() * work::READ_BYTE
                    + records * SAMPLE_OPS
                    + (records + record_bytes) * CHECK_OPS,
                resident_bytes: self.table_bytes(),
                ..Costs::default()
            },
            security: self.security.clone(),
            failure_log2: self.failure_log2,
            details: sotto_core::report_details(|| {
                vec![
                    ("l", record_bytes.to_string()),
                    ("m", records.to_string()),
                    ("n", N.to_string()),
                    ("log2 Q", format!("{LOG2_Q:.6}")),
                    ("sigma", SIGMA.to_string()),
                    ("noise sigma", format!("{deviation:.0} of a margin of {margin:.0}")),
                    ("a wrong answer passes", format!("with at most 2^{FORGED_LOG2}")),
                    ("client keeps", format!("{} bytes", self.kept_bytes())),
                ]
            }),
        }
    }
}

impl Params {
    /// Bytes that a prepared client holds: hint, Z and C.
    pub fn kept_bytes(&self) -> u64 {
        let words = self.literal.records + self.literal.record_bytes.next_multiple_of(64);
        self.hint_bytes() + words * (EQUATIONS as u64) * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sotto_silent::lwe::ring::Q;

    #[test]
    fn a_wrong_answer_passes_no_more_often_than_is_said() {
        let one = 1.0 / f64::from(Q) + 0.5f64.powi(64);
        assert!(one.log2() * EQUATIONS as f64 <= FORGED_LOG2);
    }
}

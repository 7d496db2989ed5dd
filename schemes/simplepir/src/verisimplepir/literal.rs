//! Parameters as a catalog states them: `l` bytes in a record, `m` records. All words are modulo Q, so
//! there is nothing else to choose.
//!
//! All of a table is streamed for any shape, so only the costs of a lookup decide: a query word for
//! every column, an answer word for every row, and a reading of 4 KiB of the client's own hint for
//! every row.

use crate::literal::{MAX_RECORDS, SCANNED_PER_SENT, SET, cheapest, check_shape, matrix_bytes};
use serde::{Deserialize, Serialize};
use sotto_core::{Costs, Goal, Result, Security, TableShape, work};
use sotto_math::matrix::PanelLayout;
use sotto_prg::PublicSeed;
use sotto_silent::MatrixLiteral;
use sotto_silent::lwe::bound;
use sotto_silent::lwe::ring::{self, LOG2_Q, N, PUBLIC_SEED, Q, SAMPLE_OPS, SIGMA};
use sotto_silent::matrix_shape::MatrixShape;
use sotto_silent::message::{Field, Format};

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
    /// Name of the lattice set: [`crate::literal::SET`].
    pub set: String,
    /// Bytes in a record: rows of the matrix, `l`.
    pub record_bytes: u64,
    /// Number of records: columns of the matrix, `m`.
    pub records: u64,
    /// Seed of the public matrix: [`sotto_silent::lwe::ring::PUBLIC_SEED`].
    pub seed: PublicSeed,
}

impl ParamsLiteral {
    /// Bytes of the table: the matrix in panels, which clients stream and servers scan.
    pub fn table_bytes(&self) -> u64 {
        matrix_bytes(self.record_bytes, self.records)
    }

    /// Bytes of the hint, which clients compute and store: l rows of n words.
    pub fn hint_bytes(&self) -> u64 {
        self.record_bytes * (N as u64) * 4
    }

    /// Bytes that a prepared client holds: hint, Z and C.
    pub fn kept_bytes(&self) -> u64 {
        let words = self.records + self.record_bytes.next_multiple_of(64);
        self.hint_bytes() + words * (EQUATIONS as u64) * 4
    }

    /// Ring blocks that cover the columns.
    pub fn blocks(&self) -> usize {
        self.records.div_ceil(N as u64) as usize
    }

    /// The layout of the matrix.
    pub fn layout(&self) -> PanelLayout {
        PanelLayout::new(self.record_bytes as usize, self.records as usize)
    }
}

impl MatrixLiteral for ParamsLiteral {
    fn select(shape: &TableShape) -> Result<Self> {
        // Prices of a word of a query and of an answer. The server reads the same matrix for any shape.
        let (up, down) = match shape.goal {
            Goal::ServerTime | Goal::TotalBytes => (4.0, 4.0),
            Goal::QueryBytes => (4.0, 0.0),
            Goal::Rate => (0.0, 4.0),
        };
        cheapest(shape, |cut| {
            let MatrixShape { record_bytes, records, lookups } = cut;
            if bound::exact_failure_log2(record_bytes, records) > cut.required_failure_log2(shape) {
                return None;
            }
            let table = matrix_bytes(record_bytes, records) as f64;
            let (l, m) = (record_bytes as f64, records as f64);
            let read = (table + l * N as f64 * 4.0) / SCANNED_PER_SENT;
            let per_row = lookups as f64 * (m * up + l * down + read);
            let literal = ParamsLiteral { set: SET.into(), record_bytes, records, seed: PUBLIC_SEED };
            Some((table + shape.lookups_per_client as f64 * per_row, literal))
        })
    }

    fn check(&self) -> Result<Security> {
        check_shape(&self.set, &self.seed, [self.record_bytes, self.records], MAX_RECORDS)?;
        ring::security()
    }

    fn shape(&self) -> [u64; 2] {
        [self.records, self.record_bytes]
    }

    fn query(&self) -> Format {
        Format::of(Field::below(self.records, Q))
    }

    fn answer(&self) -> Format {
        Format::of(Field::below(self.record_bytes, Q))
    }

    fn failure_log2(&self) -> f64 {
        bound::exact_failure_log2(self.record_bytes, self.records)
    }

    fn work(&self) -> Costs {
        Costs {
            artifact_bytes: self.table_bytes(),
            // Four planes: the products are made while the matrix comes from memory.
            server_ops: self.table_bytes() * work::READ_BYTE,
            client_ops: self.hint_bytes() * work::READ_BYTE
                + self.records * SAMPLE_OPS
                + (self.records + self.record_bytes) * CHECK_OPS,
            resident_bytes: self.table_bytes(),
            ..Costs::default()
        }
    }

    fn details(&self) -> Vec<(&'static str, String)> {
        let (deviation, margin) = bound::exact_deviation_and_margin(self.records);
        vec![
            ("l", self.record_bytes.to_string()),
            ("m", self.records.to_string()),
            ("n", N.to_string()),
            ("log2 Q", format!("{LOG2_Q:.6}")),
            ("sigma", SIGMA.to_string()),
            ("noise sigma", format!("{deviation:.0} of a margin of {margin:.0}")),
            ("a wrong answer passes", format!("with at most 2^{FORGED_LOG2}")),
            ("client keeps", format!("{} bytes", self.kept_bytes())),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verisimplepir::VeriSimplePir;
    use sotto_silent::MatrixScheme;
    use sotto_testkit::served::selects;

    #[test]
    fn a_wrong_answer_passes_no_more_often_than_is_said() {
        let one = 1.0 / f64::from(Q) + 0.5f64.powi(64);
        assert!(one.log2() * EQUATIONS as f64 <= FORGED_LOG2);
    }

    #[test]
    fn goals_are_kept() {
        let of = |goal| {
            ParamsLiteral::select(&TableShape { goal, ..TableShape::new(1 << 20, 256, 1000) }).unwrap()
        };
        let [time, query, total, rate] = Goal::ALL.map(of);
        assert_eq!(time, total);
        assert!(query.records < total.records && rate.record_bytes < total.record_bytes);
        assert!(time.record_bytes.max(time.records) < 2 * time.record_bytes.min(time.records), "{time:?}");
    }

    #[test]
    fn what_is_selected_passes_the_check() {
        selects::<MatrixScheme<VeriSimplePir>>(1 << 40, 1 << 24);
    }
}

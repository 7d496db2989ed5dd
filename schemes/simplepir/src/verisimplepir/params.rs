//! Checked parameters, and their report.

use super::literal::{EQUATIONS, FORGED_LOG2, ParamsLiteral};
use crate::literal::MAX_RECORDS;
use crate::params::shape;
use sotto_core::{ParamsDigest, ParamsReport, Result, Security, TableShape};
use sotto_math::matrix::PanelLayout;
use sotto_silent::limits::reliable;
use sotto_silent::lwe::bound;
use sotto_silent::lwe::ring::{self, LOG2_Q, N, SIGMA};

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
        self.literal.table_bytes()
    }
    /// Bytes of the hint, which clients compute and store: l rows of n words.
    pub fn hint_bytes(&self) -> u64 {
        self.literal.hint_bytes()
    }
    /// Bytes that a prepared client holds: hint, Z and C.
    pub fn kept_bytes(&self) -> u64 {
        let words = self.literal.records + self.literal.record_bytes.next_multiple_of(64);
        self.hint_bytes() + words * (EQUATIONS as u64) * 4
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
        let failure_log2 = bound::exact_failure_log2(literal.record_bytes, literal.records);
        reliable(failure_log2)?;
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
            costs: self.literal.costs(),
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

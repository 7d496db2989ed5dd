//! Checked parameters, and their report.

use crate::bound;
use crate::linpir::{self, BLOCK_ROWS, PLAIN, RINGS};
use crate::literal::{MAX_RECORD_BYTES, MAX_RECORDS, PUBLIC_SEED, ParamsLiteral};
use sotto_core::{ParamsDigest, ParamsReport, Result, Security, TableShape};
use sotto_lattice::bgv::{Pow2, RnsRing};
use sotto_math::matrix::PanelLayout;
use sotto_silent::limits::{field, in_range, reliable};
use sotto_silent::lwe::dense::HINTLESS;

/// Checked parameters.
#[derive(Debug, Clone)]
pub struct Params {
    literal: ParamsLiteral,
    rings: [RnsRing<Pow2>; RINGS],
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
    /// Blocks of rows.
    pub fn blocks(&self) -> usize {
        self.l.div_ceil(self.block_rows())
    }
    /// Rows in a block.
    pub fn block_rows(&self) -> usize {
        self.literal.block_rows as usize
    }
    /// LinPIR's rings.
    pub fn rings(&self) -> &[RnsRing<Pow2>; RINGS] {
        &self.rings
    }
    /// The layout of the matrix.
    pub fn layout(&self) -> PanelLayout {
        PanelLayout::new(self.l, self.m)
    }
}

impl sotto_core::Params for Params {
    type Literal = ParamsLiteral;

    fn select(shape: &TableShape) -> Result<ParamsLiteral> {
        crate::select::select(shape)
    }

    fn check(literal: ParamsLiteral) -> Result<Self> {
        if literal.set != HINTLESS.name {
            return Err(field("set", format!("must be \"{}\"", HINTLESS.name)));
        }
        // A server that chose A could choose one with a trapdoor, so the seed is fixed for
        // everyone.
        if literal.seed != PUBLIC_SEED {
            return Err(field("seed", format!("must be the scheme's public seed {PUBLIC_SEED}")));
        }
        let l = in_range("record_bytes", literal.record_bytes, MAX_RECORD_BYTES)?;
        let m = in_range("records", literal.records, MAX_RECORDS)?;
        if !BLOCK_ROWS.contains(&literal.block_rows) || !literal.block_rows.is_power_of_two() {
            return Err(field("block_rows", format!("must be a power of two in {BLOCK_ROWS:?}")));
        }
        let rings = linpir::rings()?;
        let [words, secret] = [HINTLESS.security()?, linpir::security(&rings)?];
        let security = if words.bits < secret.bits { words } else { secret };
        let ParamsLiteral { record_bytes, records, block_rows, .. } = literal;
        let failure_log2 = bound::record_failure_log2(&rings, record_bytes, records, block_rows);
        reliable(failure_log2)?;
        Ok(Params { literal, rings, l, m, security, failure_log2 })
    }

    fn literal(&self) -> &ParamsLiteral {
        &self.literal
    }

    fn report(&self) -> ParamsReport {
        let literal = &self.literal;
        let (deviation, margin) = HINTLESS.deviation_and_margin(literal.records, 32);
        let products = bound::products_failure_log2(&self.rings, literal.record_bytes, literal.block_rows);
        ParamsReport {
            digest: ParamsDigest([0; 32]),
            records: literal.records,
            record_bytes: literal.record_bytes,
            costs: literal.costs(),
            security: self.security.clone(),
            failure_log2: self.failure_log2,
            details: sotto_core::report_details(|| {
                vec![
                    ("l", literal.record_bytes.to_string()),
                    ("m", literal.records.to_string()),
                    ("n", HINTLESS.n.to_string()),
                    ("N", linpir::N.to_string()),
                    ("plain primes", format!("{PLAIN:?}")),
                    ("rows in a block", literal.block_rows.to_string()),
                    ("blocks", literal.blocks().to_string()),
                    ("bytes of LinPIR", literal.linpir_bytes().to_string()),
                    ("noise sigma", format!("{deviation:.0} of a margin of {margin:.0}")),
                    ("H s is read wrong", format!("with at most 2^{products:.0}")),
                ]
            }),
        }
    }
}

//! Checked parameters, and their report.

use crate::literal::{FRODO_SET, MAX_FRODO_RECORDS, MAX_RECORD_BYTES, MAX_RECORDS, ParamsLiteral, SET};
use sotto_core::{NamedSet, ParamsDigest, ParamsReport, Result, Security, TableShape};
use sotto_math::matrix::PanelLayout;
use sotto_prg::PublicSeed;
use sotto_silent::limits::{field, in_range, reliable};
use sotto_silent::lwe::bound::{self, MIN_ANSWER_BITS, QUERY_BITS};
use sotto_silent::lwe::dense::{DenseLwe, FRODO, LOG2_Q as LOG2_WORD};
use sotto_silent::lwe::ring::{self, LOG2_Q, N, PUBLIC_SEED, SIGMA};

/// Checked parameters.
#[derive(Debug, Clone)]
pub struct Params {
    literal: ParamsLiteral,
    dense: Option<DenseLwe>,
    l: usize,
    m: usize,
    security: Security,
    failure_log2: f64,
}

impl Params {
    /// The lattice, if it is not the one with rings.
    pub fn dense(&self) -> Option<&DenseLwe> {
        self.dense.as_ref()
    }
    /// Words in a row of the hint: the lattice's dimension.
    pub fn n(&self) -> usize {
        self.literal.n()
    }
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
    /// Bits in a query word.
    pub fn query_bits(&self) -> u32 {
        u32::from(self.literal.query_bits)
    }
    /// Bits in an answer word.
    pub fn answer_bits(&self) -> u32 {
        u32::from(self.literal.answer_bits)
    }
    /// Byte planes into which the server divides a query word.
    pub fn planes(&self) -> usize {
        usize::from(self.literal.query_bits.div_ceil(8))
    }
    /// Bytes of the hint: l rows of n words.
    pub fn hint_bytes(&self) -> u64 {
        self.literal.hint_bytes()
    }
    /// Bytes of the matrix at the server: rows padded to 64, columns to 4.
    pub fn matrix_bytes(&self) -> u64 {
        self.literal.matrix_bytes()
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

    fn sets() -> Vec<NamedSet> {
        let about =
            "FrodoPIR (PoPETs 2023): plain LWE of n = 1774, one row in a record, a query word for each row";
        vec![NamedSet { name: FRODO_SET, about }]
    }

    fn check(literal: ParamsLiteral) -> Result<Self> {
        let ParamsLiteral { record_bytes, records, query_bits, answer_bits, .. } = literal;
        let dense = literal.dense();
        // Everything else is checked as in the other set.
        let (set, most) = dense.map_or((literal.set.as_str(), MAX_RECORDS), |_| (SET, MAX_FRODO_RECORDS));
        let (l, m) = shape(set, &literal.seed, [record_bytes, records], most)?;
        if !QUERY_BITS.contains(&query_bits) || dense.is_some() && query_bits != 32 {
            return Err(field(
                "query_bits",
                format!("must lie in {QUERY_BITS:?}, and be 32 with {}", FRODO.name),
            ));
        }
        if !(MIN_ANSWER_BITS..=query_bits).contains(&answer_bits) {
            return Err(field("answer_bits", format!("must lie in {MIN_ANSWER_BITS}..=query_bits")));
        }
        let security = dense.map_or_else(ring::security, |dense| dense.security())?;
        let failure_log2 = match &dense {
            None => bound::failure_log2(record_bytes, records, query_bits, answer_bits),
            Some(dense) => dense.failure_log2(record_bytes, records, answer_bits),
        };
        reliable(failure_log2)?;
        Ok(Params { literal, dense, l, m, security, failure_log2 })
    }

    fn literal(&self) -> &ParamsLiteral {
        &self.literal
    }

    fn report(&self) -> ParamsReport {
        let ParamsLiteral { record_bytes, records, query_bits, answer_bits, .. } = self.literal;
        // Errors of a dense set are multiplied by the table in exact words: its bound holds for
        // tables that were made against A too.
        let ((deviation, margin), against, (log2_q, sigma)) = match &self.dense {
            None => {
                let noise = bound::deviation_and_margin(records, query_bits, answer_bits);
                let against = bound::against_log2(record_bytes, records, query_bits, answer_bits);
                (noise, against, (LOG2_Q, SIGMA))
            }
            Some(dense) => {
                let noise = dense.deviation_and_margin(records, answer_bits);
                (noise, self.failure_log2, (LOG2_WORD, dense.errors.variance().sqrt()))
            }
        };
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
                    ("n", self.n().to_string()),
                    ("log2 Q", format!("{log2_q:.6}")),
                    ("sigma", sigma.to_string()),
                    ("query bits", query_bits.to_string()),
                    ("answer bits", answer_bits.to_string()),
                    ("byte planes", self.planes().to_string()),
                    ("hint bytes", self.hint_bytes().to_string()),
                    ("noise sigma", format!("{deviation:.0} of a margin of {margin:.0}")),
                    ("if made against A", format!("a lookup fails with at most 2^{against:.0}")),
                ]
            }),
        }
    }
}

/// The numbers `l` and `m`, for an existing set and seed, and at most `most` records.
pub(crate) fn shape(
    set: &str,
    seed: &PublicSeed,
    [record_bytes, records]: [u64; 2],
    most: u64,
) -> Result<(usize, usize)> {
    if set != SET {
        return Err(field("set", format!("must be the name of a set, such as \"{SET}\"")));
    }
    // A server that chose A could choose one with a trapdoor, so the seed is fixed for everyone.
    if *seed != PUBLIC_SEED {
        return Err(field("seed", format!("must be the scheme's public seed {PUBLIC_SEED}")));
    }
    let l = in_range("record_bytes", record_bytes, MAX_RECORD_BYTES)?;
    Ok((l, in_range("records", records, most)?))
}

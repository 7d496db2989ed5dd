//! Checked parameters, and their report.

use crate::literal::{MAX_RECORD_BYTES, MAX_RECORDS, ParamsLiteral};
use sotto_core::{ParamsDigest, ParamsReport, Result, Security, TableShape};
use sotto_math::matrix::PanelLayout;
use sotto_silent::bound;
use sotto_silent::lattice::{self, N, SIGMA};
use sotto_silent::limits::{self, KEY_BITS, MASK_BITS, QUERY_BITS, in_range, within};
use sotto_silent::plain_modulus::PlainModulus;
use sotto_silent::unit_vector::MessageBits;

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
    /// Packed ciphertexts of a record.
    pub fn groups(&self) -> usize {
        lattice::groups(self.l as u64) as usize
    }
    /// The bits of all messages.
    pub fn bits(&self) -> MessageBits {
        self.literal.bits()
    }
    /// Byte planes into which the server divides a query word.
    pub fn planes(&self) -> usize {
        usize::from(self.literal.query_bits.div_ceil(8))
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
        limits::public(&literal.set, &literal.seed)?;
        let l = in_range("record_bytes", literal.record_bytes, MAX_RECORD_BYTES)?;
        let m = in_range("records", literal.records, MAX_RECORDS)?;
        within("query_bits", literal.query_bits, QUERY_BITS)?;
        within("key_bits", literal.key_bits, KEY_BITS)?;
        let [mask, body] = literal.answer_bits;
        within("answer_bits", mask, MASK_BITS)?;
        within("answer_bits", body, *MASK_BITS.start()..=mask)?;
        let security = lattice::security()?;
        let failure_log2 = literal.failure_log2();
        limits::reliable(failure_log2)?;
        Ok(Params { literal, l, m, security, failure_log2 })
    }

    fn literal(&self) -> &ParamsLiteral {
        &self.literal
    }

    fn report(&self) -> ParamsReport {
        let literal = &self.literal;
        let ([errors, roundings], margin) =
            bound::variances_and_margin(literal.records, PlainModulus::BYTES, 1, literal.bits());
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
                    ("d", N.to_string()),
                    ("log2 q", format!("{:.3}", (lattice::Q as f64).log2())),
                    ("sigma", SIGMA.to_string()),
                    ("packed ciphertexts", literal.groups().to_string()),
                    ("byte planes", self.planes().to_string()),
                    ("bytes of weights", literal.weight_bytes().to_string()),
                    ("errors", format!("2^{:.1} of a margin of 2^{:.1}", errors.log2() / 2.0, margin.log2())),
                    ("roundings", format!("2^{:.1}", roundings.log2() / 2.0)),
                ]
            }),
        }
    }
}

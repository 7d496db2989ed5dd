//! Checked parameters, and their report.

use crate::bound;
use crate::literal::{MASK_BITS, MAX_COLUMNS, MAX_RECORD_BYTES, PLACES, ParamsLiteral, SELECTOR_BITS};
use crate::numbers::PLAIN;
use sotto_core::{ParamsDigest, ParamsReport, Result, Security, TableShape};
use sotto_math::matrix::PanelLayout;
use sotto_silent::lattice::{self, GROUP_BYTES, N, SIGMA};
use sotto_silent::limits::{self, KEY_BITS, QUERY_BITS, field, in_range, within};
use sotto_silent::unit_vector::MessageBits;

/// Checked parameters.
#[derive(Debug, Clone)]
pub struct Params {
    literal: ParamsLiteral,
    m: usize,
    places: usize,
    security: Security,
    failure_log2: f64,
}

impl Params {
    /// Rows of the matrix: bytes of a column.
    pub fn l(&self) -> usize {
        self.packed() * GROUP_BYTES
    }
    /// Columns of the matrix.
    pub fn m(&self) -> usize {
        self.m
    }
    /// Records in a column, `t`.
    pub fn places(&self) -> usize {
        self.places
    }
    /// Groups of a record's numbers: ciphertexts of an answer.
    pub fn groups(&self) -> usize {
        self.literal.groups() as usize
    }
    /// Groups of a column's numbers: packed ciphertexts.
    pub fn packed(&self) -> usize {
        self.groups() * self.places
    }
    /// The bits of all messages except for the selector's.
    pub fn bits(&self) -> MessageBits {
        self.literal.bits()
    }
    /// Bits of the selector's coefficients.
    pub fn selector_bits(&self) -> [u32; 2] {
        self.literal.selector_bits.map(u32::from)
    }
    /// Byte planes into which the server divides a query word.
    pub fn planes(&self) -> usize {
        usize::from(self.literal.query_bits.div_ceil(8))
    }
    /// The layout of the matrix.
    pub fn layout(&self) -> PanelLayout {
        PanelLayout::new(self.l(), self.m)
    }
}

impl sotto_core::Params for Params {
    type Literal = ParamsLiteral;

    fn select(shape: &TableShape) -> Result<ParamsLiteral> {
        crate::select::select(shape)
    }

    fn check(literal: ParamsLiteral) -> Result<Self> {
        limits::public(&literal.set, &literal.seed)?;
        if !PLACES.contains(&literal.places) {
            return Err(field("places", format!("must be one of {PLACES:?}")));
        }
        in_range("record_bytes", literal.record_bytes, MAX_RECORD_BYTES)?;
        in_range("records", literal.records, MAX_COLUMNS * literal.places)?;
        within("query_bits", literal.query_bits, QUERY_BITS)?;
        within("key_bits", literal.key_bits, KEY_BITS)?;
        literal
            .selector_bits
            .into_iter()
            .try_for_each(|bits| within("selector_bits", bits, SELECTOR_BITS))?;
        let [mask, body] = literal.answer_bits;
        within("answer_bits", mask, MASK_BITS)?;
        within("answer_bits", body, *MASK_BITS.start()..=mask)?;
        let security = lattice::security()?;
        let failure_log2 = literal.failure_log2();
        limits::reliable(failure_log2)?;
        let (m, places) = (literal.columns() as usize, literal.places as usize);
        Ok(Params { literal, m, places, security, failure_log2 })
    }

    fn literal(&self) -> &ParamsLiteral {
        &self.literal
    }

    fn report(&self) -> ParamsReport {
        let literal = &self.literal;
        let ([errors, roundings], margin) = bound::variances_and_margin(
            literal.columns(),
            literal.places,
            literal.bits(),
            self.selector_bits(),
        );
        ParamsReport {
            digest: ParamsDigest([0; 32]),
            records: literal.records,
            record_bytes: literal.record_bytes,
            costs: literal.costs(),
            security: self.security.clone(),
            failure_log2: self.failure_log2,
            details: sotto_core::report_details(|| {
                vec![
                    ("t", literal.places.to_string()),
                    ("m", literal.columns().to_string()),
                    ("d", N.to_string()),
                    ("log2 q", format!("{:.3}", (lattice::Q as f64).log2())),
                    ("p", PLAIN.modulus().to_string()),
                    ("sigma", SIGMA.to_string()),
                    ("groups of a record", literal.groups().to_string()),
                    ("byte planes", self.planes().to_string()),
                    ("bytes of weights", literal.weight_bytes().to_string()),
                    ("errors", format!("2^{:.1} of a margin of 2^{:.1}", errors.log2() / 2.0, margin.log2())),
                    ("roundings", format!("2^{:.1}", roundings.log2() / 2.0)),
                ]
            }),
        }
    }
}

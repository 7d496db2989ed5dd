//! Checked parameters, and their report.

use crate::literal::{MASK_BITS, ParamsLiteral};
use sotto_core::{ParamsDigest, ParamsReport, Result, Security, TableShape};
use sotto_silent::limits::{field, reliable, within};
use sotto_silent::lwe::bound::{MIN_ANSWER_BITS, QUERY_BITS};
use sotto_silent::lwe::ring::{self, LOG2_Q, N, PUBLIC_SEED, SET, SIGMA};
use sotto_silent::two_pass::{TwoPassLayout, bound};

/// Checked parameters.
#[derive(Debug, Clone)]
pub struct Params {
    literal: ParamsLiteral,
    security: Security,
    failure_log2: f64,
}

impl Params {
    /// The layout of the table in both matrices.
    pub fn cut(&self) -> TwoPassLayout {
        self.literal.cut()
    }
    /// Bits of a word of the first query vector, and of the second.
    pub fn query_bits(&self) -> [u32; 2] {
        self.literal.query_bits.map(u32::from)
    }
    /// Bits of a word of an answer.
    pub fn answer_bits(&self) -> u32 {
        u32::from(self.literal.answer_bits)
    }
    /// Bits of a word of a fresh row's mask.
    pub fn mask_bits(&self) -> u32 {
        u32::from(self.literal.mask_bits)
    }
}

impl sotto_core::Params for Params {
    type Literal = ParamsLiteral;

    fn select(shape: &TableShape) -> Result<ParamsLiteral> {
        crate::select::select(shape)
    }

    fn check(literal: ParamsLiteral) -> Result<Self> {
        if literal.set != SET {
            return Err(field("set", format!("must be \"{SET}\"")));
        }
        // A server that chose A could choose one with a trapdoor, so the seed is fixed for
        // everyone.
        if literal.seed != PUBLIC_SEED {
            return Err(field("seed", format!("must be the scheme's public seed {PUBLIC_SEED}")));
        }
        if let Some((name, why)) = literal.cut().refusal() {
            return Err(field(name, why));
        }
        let [first, second] = literal.query_bits;
        within("query_bits", first, QUERY_BITS)?;
        within("query_bits", second, QUERY_BITS)?;
        within("answer_bits", literal.answer_bits, MIN_ANSWER_BITS..=second)?;
        within("mask_bits", literal.mask_bits, MASK_BITS)?;
        let security = ring::security()?;
        let failure_log2 = literal.failure_log2();
        reliable(failure_log2)?;
        Ok(Params { literal, security, failure_log2 })
    }

    fn literal(&self) -> &ParamsLiteral {
        &self.literal
    }

    fn report(&self) -> ParamsReport {
        let (literal, cut) = (&self.literal, self.cut());
        let noise = literal.words().map(|words| {
            let ([errors, roundings], margin) = bound::variances_and_margin(&words);
            let [errors, roundings] = [errors, roundings].map(f64::sqrt);
            format!("errors {errors:.0}, roundings {roundings:.0}, of a margin of {margin:.0}")
        });
        let [first, second] = noise;
        ParamsReport {
            digest: ParamsDigest([0; 32]),
            records: literal.records,
            record_bytes: literal.record_bytes,
            costs: literal.costs(),
            security: self.security.clone(),
            failure_log2: self.failure_log2,
            details: sotto_core::report_details(|| {
                vec![
                    ("l", cut.rows().to_string()),
                    ("m", cut.columns().to_string()),
                    ("n", N.to_string()),
                    ("log2 Q", format!("{LOG2_Q:.6}")),
                    ("sigma", SIGMA.to_string()),
                    ("second matrix", format!("{} x {}", cut.second_rows(), cut.blocks)),
                    ("hint bytes", literal.hint_bytes().to_string()),
                    ("first pass", first),
                    ("fresh rows", second),
                ]
            }),
        }
    }
}

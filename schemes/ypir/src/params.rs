//! Checked parameters, and their report.

use crate::literal::{PUBLIC_SEEDS, ParamsLiteral, SETS};
use sotto_core::{ParamsDigest, ParamsReport, Result, Security, TableShape};
use sotto_silent::lattice::{self, N, P_LOG2, Q_BITS};
use sotto_silent::limits::{KEY_BITS, MASK_BITS, QUERY_BITS, field, reliable, within};
use sotto_silent::lwe::ring;
use sotto_silent::plain_modulus::PlainModulus;
use sotto_silent::two_pass::TwoPassLayout;
use sotto_silent::two_pass::bound::variances_and_margin;
use sotto_silent::unit_vector::MessageBits;
use sotto_silent::{bound, lwe};

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
    /// The bits of the second query, and of answers.
    pub fn bits(&self) -> MessageBits {
        self.literal.bits()
    }
    /// Bits of a word of the first query.
    pub fn first_bits(&self) -> u32 {
        let [first, _] = self.literal.query_bits;
        u32::from(first)
    }
    /// Byte planes into which the server divides a word of the second query.
    pub fn planes(&self) -> usize {
        self.bits().query.div_ceil(8) as usize
    }
    /// Packed ciphertexts of an answer.
    pub fn groups(&self) -> usize {
        self.literal.groups() as usize
    }
    /// Number of used coefficients of a group.
    pub fn in_use(&self, group: usize) -> usize {
        (self.literal.numbers() as usize).saturating_sub(group * N).min(N)
    }
}

impl sotto_core::Params for Params {
    type Literal = ParamsLiteral;

    fn select(shape: &TableShape) -> Result<ParamsLiteral> {
        crate::select::select(shape)
    }

    fn check(literal: ParamsLiteral) -> Result<Self> {
        if literal.sets != SETS {
            return Err(field("sets", format!("must be {SETS:?}")));
        }
        // A server that chose the public polynomials could try until it found weak ones, so the
        // seeds are fixed for everyone.
        if literal.seeds != PUBLIC_SEEDS {
            return Err(field("seeds", "must be the scheme's public seeds".into()));
        }
        if let Some((name, why)) = literal.cut().refusal() {
            return Err(field(name, why));
        }
        let [first, second] = literal.query_bits;
        within("query_bits", first, lwe::bound::QUERY_BITS)?;
        within("query_bits", second, QUERY_BITS)?;
        within("key_bits", literal.key_bits, KEY_BITS)?;
        let [mask, body] = literal.answer_bits;
        within("answer_bits", mask, MASK_BITS)?;
        within("answer_bits", body, *MASK_BITS.start()..=mask)?;
        let (first, second) = (ring::security()?, lattice::security()?);
        let security = if first.bits <= second.bits { first } else { second };
        let failure_log2 = literal.failure_log2();
        reliable(failure_log2)?;
        Ok(Params { literal, security, failure_log2 })
    }

    fn literal(&self) -> &ParamsLiteral {
        &self.literal
    }

    fn report(&self) -> ParamsReport {
        let (literal, cut) = (&self.literal, self.cut());
        let noise = |([errors, roundings], margin): ([f64; 2], f64)| {
            let [errors, roundings] = [errors, roundings].map(|variance| variance.log2() / 2.0);
            format!("errors 2^{errors:.1}, roundings 2^{roundings:.1}, of a margin of 2^{:.1}", margin.log2())
        };
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
                    (
                        "first pass",
                        format!("n = {}, log2 Q = {:.3}, sigma {}", ring::N, ring::LOG2_Q, ring::SIGMA),
                    ),
                    (
                        "second pass",
                        format!("d = {N}, log2 q = {Q_BITS}, p = 2^{P_LOG2}, sigma {}", lattice::SIGMA),
                    ),
                    ("second matrix", format!("{} x {}", cut.second_rows(), cut.blocks)),
                    ("packed ciphertexts", literal.groups().to_string()),
                    ("bytes of weights", literal.weight_bytes().to_string()),
                    ("noise of the first pass", noise(variances_and_margin(&literal.words()))),
                    (
                        "noise of packed numbers",
                        noise(bound::variances_and_margin(
                            literal.blocks,
                            PlainModulus::BYTES,
                            1,
                            literal.bits(),
                        )),
                    ),
                ]
            }),
        }
    }
}

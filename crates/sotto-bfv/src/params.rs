//! Checked parameters, for every scheme of the family, and their report.

use crate::cost;
use crate::family::{Family, Method, lay_out};
use crate::layout::Layout;
use crate::literal::Literal;
use crate::noise::Noise;
use crate::rings::{Ring, RingSet};
use crate::select;
use sotto_core::params::REQUIRED_FAILURE_LOG2;
use sotto_core::{Costs, NamedSet, ParamsDigest, ParamsError, ParamsReport, Result, Security, TableShape};
use sotto_lattice::bgv::AnswerBits;
use std::sync::Arc;

/// Checked parameters of a scheme `F`. Cheap to clone.
pub struct Params<F: Family> {
    inner: Arc<Inner<F::Method>>,
}

impl<F: Family> Clone for Params<F> {
    fn clone(&self) -> Self {
        Params { inner: self.inner.clone() }
    }
}

impl<F: Family> std::ops::Deref for Params<F> {
    type Target = Inner<F::Method>;

    fn deref(&self) -> &Inner<F::Method> {
        &self.inner
    }
}

/// The values that client and server need.
#[derive(Debug)]
pub struct Inner<M> {
    /// The literal that these parameters were checked from.
    pub literal: Literal,
    /// The named ring set.
    pub set: &'static RingSet,
    /// The ring, with its transforms.
    pub ring: Ring,
    /// Positions of the records.
    pub layout: Layout,
    /// How queries select records.
    pub method: M,
    /// Bits of a coefficient of an answer.
    pub bits: AnswerBits,
    /// Noise of a lookup.
    pub noise: Noise,
    pub(crate) security: Security,
    pub(crate) failure_log2: f64,
}

impl<F: Family> sotto_core::Params for Params<F> {
    type Literal = Literal;

    fn sets() -> Vec<NamedSet> {
        F::sets().iter().map(|set| NamedSet { name: set.name, about: set.about }).collect()
    }

    fn select(shape: &TableShape) -> Result<Literal> {
        select::select::<F>(shape)
    }

    fn check(literal: Literal) -> Result<Self> {
        let (set, layout) = lay_out::<F>(&literal)?;
        let method = F::Method::new(&layout, set)?;
        let security = set.security()?;
        let ring = set.ring().cloned().ok_or_else(|| field("ring", "must have transforms"))?;
        let bytes = cost::image_bytes(&layout);
        check("records", bytes <= cost::MAX_BYTES, "must make an image of at most 2^46 bytes")?;
        check("written", literal.written as usize <= layout.rows, "must be at most the rows")?;
        let [body, mask] = literal.answer_bits.map(u32::from);
        let bits = AnswerBits::new(&ring, body, mask).ok_or_else(|| {
            field(
                "answer_bits",
                "must be at least 1, at most those of the mask for the body, and within the modulus",
            )
        })?;
        let noise = method.noise(&ring, &layout, literal.written.into());
        let failure_log2 = noise.failure_log2(&ring, bits);
        if failure_log2 > f64::from(REQUIRED_FAILURE_LOG2) {
            return Err(
                ParamsError::Unreliable { log2: failure_log2, required: REQUIRED_FAILURE_LOG2 }.into()
            );
        }
        let inner = Inner { literal, set, ring, layout, method, bits, noise, security, failure_log2 };
        Ok(Params { inner: Arc::new(inner) })
    }

    fn literal(&self) -> &Literal {
        &self.inner.literal
    }

    fn report(&self) -> ParamsReport {
        report(self)
    }
}

fn check(field: &'static str, holds: bool, must_be: &str) -> Result<(), ParamsError> {
    if holds { Ok(()) } else { Err(self::field(field, must_be)) }
}

fn field(field: &'static str, must_be: &str) -> ParamsError {
    ParamsError::Field { field, why: must_be.into() }
}

/// Makes the report of parameters.
fn report<M: Method>(params: &Inner<M>) -> ParamsReport {
    let (literal, set, layout, method) = (&params.literal, params.set, &params.layout, &params.method);
    let answer = method.answers(layout) * cost::answer_bytes(set, literal.answer_bits);
    ParamsReport {
        digest: ParamsDigest([0; 32]),
        records: literal.records,
        record_bytes: layout.record_bytes() as u64,
        costs: Costs {
            artifact_bytes: 0,
            keys_bytes: cost::keys_bytes(set, method.keys()) as u64,
            query_bytes: cost::query_bytes(set, layout.queries) as u64,
            answer_bytes: answer as u64,
            server_ops: cost::server_ops(method, layout, set),
            client_ops: cost::client_ops(method, layout, set),
            resident_bytes: cost::image_bytes(layout),
            ..Costs::default()
        },
        security: params.security.clone(),
        failure_log2: params.failure_log2,
        abort_leakage: None,
        details: sotto_core::report_details(|| details(params)),
    }
}

/// Details in groups: the part of a name before the colon is the group.
fn details<M: Method>(params: &Inner<M>) -> Vec<(&'static str, String)> {
    let (literal, layout, method) = (&params.literal, &params.layout, &params.method);
    let mut out = vec![
        ("ring", format!("{}, {}", params.set.name, params.set.about)),
        ("buckets", format!("{} of {} records", layout.buckets, layout.records)),
        (
            "table",
            format!(
                "{} of {} rows by {} columns of plaintexts, {} positions, records in {} parts",
                layout.tables(),
                layout.rows,
                layout.cols(),
                layout.positions,
                layout.split
            ),
        ),
        ("written in place", format!("{} rows under one mask", literal.written)),
        ("keys: of evaluation", method.keys().count().to_string()),
        ("ciphertexts", format!("{} asked, {} answered", layout.queries, method.answers(layout))),
        (
            "bits sent: of an answer's words",
            format!("{} of masks, {} of bodies", literal.answer_bits[1], literal.answer_bits[0]),
        ),
        (
            "memory of a client's keys",
            format!("{:.1} MB", cost::session_bytes(params.set, method.keys()) as f64 / 1e6),
        ),
    ];
    out.extend(
        params.noise.steps.iter().map(|(step, variance)| (*step, format!("2^{:.1}", variance.log2() / 2.0))),
    );
    out
}

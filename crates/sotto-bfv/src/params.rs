//! Checked parameters, for every scheme of the family.

use crate::cost;
use crate::family::{Family, Method, ParamsSet};
use crate::layout::Layout;
use crate::literal::Literal;
use crate::noise::Noise;
use crate::report;
use crate::rings::{self, Ring, RingSet};
use crate::select;
use sotto_core::params::REQUIRED_FAILURE_LOG2;
use sotto_core::{NamedSet, ParamsError, ParamsReport, Result, Security, TableShape};
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
        let (set, layout) = laid::<F>(&literal)?;
        let method = F::Method::new(&layout, set)?;
        let security = set.security()?;
        let ring = set.ring().cloned().ok_or_else(|| field("ring", "one that has transforms"))?;
        let bytes = cost::image_bytes(&layout);
        check("records", bytes <= cost::MAX_BYTES, "an image of at most 2^46 bytes")?;
        check("written", literal.written as usize <= layout.rows, "at most the rows")?;
        let [body, mask] = literal.answer_bits.map(u32::from);
        let bits = AnswerBits::new(&ring, body, mask).ok_or_else(|| {
            field("answer_bits", "at least one, no more of the body than of the mask, and room for both")
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
        report::of(self)
    }
}

/// Finds the ring and makes the layout of a literal, if the scheme has a set of that ring.
///
/// # Errors
/// [`ParamsError::Field`] for a ring that no set has, and for numbers that do not fit it.
pub(crate) fn laid<F: Family>(literal: &Literal) -> Result<(&'static RingSet, Layout), ParamsError> {
    let known = |set: &ParamsSet| set.ring == literal.ring;
    if !F::sets().iter().any(known) {
        return Err(field("ring", "that of one of the scheme's sets"));
    }
    let set = rings::find(&literal.ring)?;
    Ok((set, Layout::new(F::Method::FORM, set, literal)?))
}

fn check(field: &'static str, holds: bool, must_be: &str) -> Result<(), ParamsError> {
    if holds { Ok(()) } else { Err(self::field(field, must_be)) }
}

fn field(field: &'static str, must_be: &str) -> ParamsError {
    ParamsError::Field { field, why: must_be.into() }
}

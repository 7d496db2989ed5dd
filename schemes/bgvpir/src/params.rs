//! Checked parameters.

use crate::cost;
use crate::folding_tree::FoldingTree;
use crate::layout::Layout;
use crate::literal::{Literal, MAX_BYTES, MAX_LAYERS, MAX_LEVELS};
use crate::noise::{Noise, unreliable};
use crate::report;
use crate::rings::{self, MAX_PRIMES, Ring, RingSet, SIGMA, on_ring};
use crate::select;
use crate::sets::SETS;
use sotto_core::params::REQUIRED_FAILURE_LOG2;
use sotto_core::{NamedSet, ParamsError, ParamsReport, Result, Security, TableShape};
use sotto_lattice::bgv::AnswerBits;
use std::sync::Arc;

/// Checked parameters. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Params {
    inner: Arc<Inner>,
}

/// The checked parameters that client and server share.
#[derive(Debug)]
pub struct Inner {
    /// The literal that was checked.
    pub literal: Literal,
    /// The ring's constants.
    pub set: &'static RingSet,
    /// The ring, with its transforms.
    pub ring: Arc<Ring>,
    /// The folding tree.
    pub tree: FoldingTree,
    /// The positions of records.
    pub layout: Layout,
    /// Bits of an answer's coefficients.
    pub bits: AnswerBits,
    /// The noise of a lookup.
    pub noise: Noise,
    pub(crate) security: Security,
    pub(crate) failure_log2: f64,
}

impl std::ops::Deref for Params {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.inner
    }
}

impl sotto_core::Params for Params {
    type Literal = Literal;

    fn sets() -> Vec<NamedSet> {
        SETS.iter().map(|set| NamedSet { name: set.name, about: set.about }).collect()
    }

    fn select(shape: &TableShape) -> Result<Literal> {
        select::select(shape)
    }

    fn check(literal: Literal) -> Result<Self> {
        let set = literal.ring()?;
        let tree = literal.tree()?;
        in_range(&literal, set, &tree)?;
        let ring = rings::ring(set.name, literal.primes)?;
        let [body, mask] = literal.answer_bits.map(u32::from);
        let (security, bits) =
            on_ring!(&*ring, rns => (rns.security(SIGMA)?, AnswerBits::new(rns, body, mask)));
        let bits = bits.ok_or_else(|| ParamsError::Field {
            field: "answer_bits",
            why: "at least one, no more of the body than of the mask, and at most 35".into(),
        })?;
        let noise = Noise::of(&literal, &ring, &tree);
        let failure_log2 = noise.failure_log2(&literal, &ring, bits);
        if failure_log2 > f64::from(REQUIRED_FAILURE_LOG2) {
            return Err(unreliable(failure_log2).into());
        }
        let layout = literal.layout(set);
        Ok(Params {
            inner: Arc::new(Inner { literal, set, ring, tree, layout, bits, noise, security, failure_log2 }),
        })
    }

    fn literal(&self) -> &Literal {
        &self.inner.literal
    }

    fn report(&self) -> ParamsReport {
        report::of(self)
    }
}

/// Checks every number of a literal against the ring and the tree.
fn in_range(literal: &Literal, set: &RingSet, tree: &FoldingTree) -> Result<(), ParamsError> {
    let check = |field: &'static str, holds: bool, why: &str| {
        if holds { Ok(()) } else { Err(ParamsError::Field { field, why: why.into() }) }
    };
    check("primes", (1..=MAX_PRIMES).contains(&literal.primes), "1 to 3")?;
    check(
        "scan_primes",
        (1..=literal.primes).contains(&literal.scan_primes),
        "1 to as many as there are primes",
    )?;
    let places = tree.folded() as u64;
    check(
        "stride",
        literal.stride == 1 || (2..places).contains(&u64::from(literal.stride)),
        "1, or less than there are places to turn to",
    )?;
    check("levels", (1..=MAX_LEVELS).contains(&literal.levels), "1 to 4")?;
    check("period", set.periods.contains(&literal.period), "one of the ring's periods")?;
    check("period", tree.folded() <= literal.period as usize, "no shorter than all leaves together")?;
    check("layers", (1..=MAX_LAYERS).contains(&literal.layers), "1 to 4096")?;
    let layout = literal.layout(set);
    check("period, layers", layout.record_bytes() > 0, "records of at least one byte")?;
    check("records", (1..=1 << 46).contains(&literal.records), "1 to 2^46")?;
    check("left, right", layout.rows(literal.records) <= tree.rows(), "a tree with room for every row")?;
    check("written", u64::from(literal.written) <= layout.rows(literal.records), "at most the rows")?;
    let bytes = cost::image_bytes(literal, set, tree);
    check("records", bytes <= MAX_BYTES, "an image of at most 2^46 bytes")
}

impl Inner {
    /// Bytes of a record.
    pub fn record_bytes(&self) -> usize {
        self.layout.record_bytes()
    }

    /// Number of entries of u that the table needs.
    pub fn columns(&self) -> usize {
        cost::columns(&self.literal, self.set, &self.tree) as usize
    }
}

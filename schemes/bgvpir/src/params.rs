//! Checked parameters, and their report.

use crate::folding_tree::{FoldingTree, Side};
use crate::layout::{Layout, ProductOrder};
use crate::literal::{MAX_BYTES, MAX_LAYERS, MAX_LEVELS, ParamsLiteral, RowFormat};
use crate::noise::{Noise, unreliable};
use crate::rings::{self, MAX_PRIMES, Ring, RingSet, SETS, SIGMA, on_ring};
use crate::{cost, select};
use sotto_core::params::REQUIRED_FAILURE_LOG2;
use sotto_core::{Costs, NamedSet, ParamsDigest, ParamsError, ParamsReport, Result, Security, TableShape};
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
    pub literal: ParamsLiteral,
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
    type Literal = ParamsLiteral;

    fn sets() -> Vec<NamedSet> {
        SETS.iter().map(|set| NamedSet { name: set.name, about: set.about }).collect()
    }

    fn select(shape: &TableShape) -> Result<ParamsLiteral> {
        select::select(shape)
    }

    fn check(literal: ParamsLiteral) -> Result<Self> {
        let set = literal.ring()?;
        let tree = literal.tree()?;
        in_range(&literal, set, &tree)?;
        let ring = rings::ring(set.name, literal.primes)?;
        let [body, mask] = literal.answer_bits.map(u32::from);
        let (security, bits) =
            on_ring!(&*ring, rns => (rns.security(SIGMA)?, AnswerBits::new(rns, body, mask)));
        let bits = bits.ok_or_else(|| ParamsError::Field {
            field: "answer_bits",
            why: "must lie in 1..=35, the body's at most the mask's".into(),
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

    fn literal(&self) -> &ParamsLiteral {
        &self.inner.literal
    }

    fn report(&self) -> ParamsReport {
        let (literal, set, tree) = (&self.literal, self.set, &self.tree);
        ParamsReport {
            digest: ParamsDigest([0; 32]),
            records: literal.records,
            record_bytes: self.record_bytes() as u64,
            costs: Costs {
                artifact_bytes: 0,
                keys_bytes: cost::keys_bytes(literal, set) as u64,
                query_bytes: cost::query_bytes(literal, set) as u64,
                answer_bytes: cost::answer_bytes(literal, set) as u64,
                server_ops: cost::server_ops(literal, set, tree),
                client_ops: cost::client_ops(literal),
                resident_bytes: cost::image_bytes(literal, set, tree),
                ..Costs::default()
            },
            security: self.security.clone(),
            failure_log2: self.failure_log2,
            abort_leakage: None,
            details: sotto_core::report_details(|| details(self)),
        }
    }
}

/// Checks every number of a literal against the ring and the tree.
fn in_range(literal: &ParamsLiteral, set: &RingSet, tree: &FoldingTree) -> Result<(), ParamsError> {
    let check = |field: &'static str, holds: bool, must_be: &str| {
        if holds { Ok(()) } else { Err(ParamsError::Field { field, why: format!("must be {must_be}") }) }
    };
    check("primes", (1..=MAX_PRIMES).contains(&literal.primes), "in 1..=3")?;
    check("scan_primes", (1..=literal.primes).contains(&literal.scan_primes), "in 1..=primes")?;
    let places = tree.folded() as u64;
    check(
        "stride",
        literal.stride == 1 || (2..places).contains(&u64::from(literal.stride)),
        "1, or less than the length of the folded vector",
    )?;
    check("levels", (1..=MAX_LEVELS).contains(&literal.levels), "in 1..=4")?;
    check("period", set.periods.contains(&literal.period), "one of the ring's periods")?;
    check("period", tree.folded() <= literal.period as usize, "at least the length of the folded vector")?;
    check("layers", (1..=MAX_LAYERS).contains(&literal.layers), "in 1..=4096")?;
    let layout = literal.layout(set);
    check("period, layers", layout.record_bytes() > 0, "such that records have at least one byte")?;
    check("records", (1..=1 << 46).contains(&literal.records), "in 1..=2^46")?;
    check(
        "left, right",
        layout.rows(literal.records) <= tree.rows(),
        "such that the tree reaches every row",
    )?;
    check(
        "written",
        u64::from(literal.written) <= layout.rows(literal.records),
        "at most the number of rows",
    )?;
    let bytes = cost::image_bytes(literal, set, tree);
    check("records", bytes <= MAX_BYTES, "such that the image has at most 2^46 bytes")
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

/// Facts in groups: names that share a prefix before a colon are a group.
fn details(params: &Inner) -> Vec<(&'static str, String)> {
    let (literal, tree, layout) = (&params.literal, &params.tree, &params.layout);
    let products = tree.products(Side::Left) + tree.products(Side::Right);
    let [ours, theirs] = [ProductOrder::Distributed, ProductOrder::Paper]
        .map(|order| cost::products(literal, params.set, tree, order));
    let [u, v] = params.noise.unfolded.map(deviation);
    let block = layout.record_slots() * layout.slot_bits as usize;
    vec![
        ("ring", format!("{}, {}", params.set.name, params.set.about)),
        (
            "primes",
            format!(
                "{} of 50 bits and the special one; {} when the table is multiplied",
                literal.primes, literal.scan_primes
            ),
        ),
        (
            "table",
            format!(
                "{} rows of {} records, {} layers",
                layout.rows(literal.records),
                literal.period,
                literal.layers
            ),
        ),
        (
            "image",
            match literal.form {
                RowFormat::Values => "rows as values, ready to be multiplied",
                RowFormat::Coefficients => "rows as coefficients, transformed in each pass",
            }
            .into(),
        ),
        ("written in place", format!("{} rows under one mask", literal.written)),
        ("records", format!("blocks of {block} bits a layer")),
        ("tree: of u", lengths(&literal.left)),
        ("tree: of v", lengths(&literal.right)),
        ("tree: besides the record an answer holds", {
            let alone = tree.selects_nothing_else(literal.period as usize);
            if alone { "nothing, for an honest client" } else { "parts of other rows" }.into()
        }),
        (
            "tree: keys of rotation",
            match literal.stride {
                1 => "by one place".into(),
                stride => format!("by one place, and by {stride}"),
            },
        ),
        ("tree: rotations one after the other", literal.rotations(tree).depth().to_string()),
        ("tree: rotations", tree.folded().saturating_sub(1).to_string()),
        ("tree: products with relinearization", products.to_string()),
        ("products of polynomials: rows first", ours.to_string()),
        ("products of polynomials: in the paper's order", theirs.to_string()),
        (
            "bits sent: of an answer's words",
            format!("{} of masks, {} of bodies", literal.answer_bits[1], literal.answer_bits[0]),
        ),
        ("noise: after the last rotation", deviation(params.noise.rotated)),
        ("noise: of u and v", format!("{u} and {v}")),
        ("noise: after the sums over rows", deviation(params.noise.first)),
        ("noise: of u times v, in the paper's order", deviation(params.noise.raw)),
        ("noise: of the whole sum", deviation(params.noise.sums[0])),
        ("noise: of the answer", deviation(params.noise.answer)),
        ("memory of a client's keys", format!("{:.1} MB", cost::session_bytes(literal) as f64 / 1e6)),
    ]
}

fn lengths(leaves: &[u32]) -> String {
    leaves.iter().map(u32::to_string).collect::<Vec<_>>().join(" x ")
}

/// The standard deviation of a variance.
fn deviation(variance: f64) -> String {
    format!("2^{:.1}", variance.log2() / 2.0)
}

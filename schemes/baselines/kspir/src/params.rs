//! Checked parameters, and their report.

use crate::bound::{self, Variances};
use crate::grid::{Grid, MAX_PAGES};
use crate::literal::{MASK_BITS, MAX_BYTES, ParamsLiteral, SEED_BYTES};
use crate::ring::{self, BABY, FOLD, GIANT, N, PACK, SET, Slots};
use sotto_core::params::REQUIRED_FAILURE_LOG2;
use sotto_core::{Costs, ParamsDigest, ParamsError, ParamsReport, Result, Security, TableShape, work};
use sotto_lattice::ring::{ModulusLevel, Ring};
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
    /// The grid.
    pub grid: Grid,
    /// The ring.
    pub ring: Ring,
    /// The slots of plaintexts.
    pub slots: Slots,
    security: Security,
    failure_log2: f64,
}

impl std::ops::Deref for Params {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.inner
    }
}

impl Inner {
    /// Bytes of a body of this level.
    pub fn body_bytes(&self, level: ModulusLevel) -> usize {
        self.ring.bits(level) as usize * N / 8
    }

    /// Levels of the bodies of a client's keys, in the order of the wire: of baby steps, of giant steps, of packing.
    pub fn key_bodies(&self) -> impl Iterator<Item = ModulusLevel> {
        let babies = self.grid.babies / 2 * BABY.count as usize;
        let others =
            (self.grid.giants() - 1) * GIANT.count as usize + self.grid.levels() * PACK.count as usize;
        std::iter::repeat_n(ModulusLevel::Full, babies).chain(std::iter::repeat_n(ModulusLevel::Main, others))
    }

    /// Levels of the bodies of a query: of the vector, and of the rows of X^-p.
    pub fn query_bodies(&self) -> impl Iterator<Item = ModulusLevel> {
        let rows = std::iter::repeat_n(ModulusLevel::Main, 2 * FOLD.count as usize);
        std::iter::once(ModulusLevel::Full).chain(rows)
    }

    /// Bytes of a seed and bodies of these levels.
    pub fn bytes_of(&self, bodies: impl Iterator<Item = ModulusLevel>) -> usize {
        SEED_BYTES + bodies.map(|level| self.body_bytes(level)).sum::<usize>()
    }

    /// Bytes of an answer: a mask and a body for each page.
    pub fn answer_bytes(&self) -> usize {
        let bits: usize = self.literal.answer_bits.iter().map(|bits| usize::from(*bits)).sum();
        self.grid.pages * bits * N / 8
    }

    /// Bytes of the image: the table, and a copy of the records.
    pub fn image_bytes(&self) -> u64 {
        image_bytes(&self.grid, self.literal.records)
    }
}

/// Bytes of an image.
fn image_bytes(grid: &Grid, records: u64) -> u64 {
    grid.table_bytes().saturating_add(records.saturating_mul(grid.record_bytes() as u64))
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
        let powers = format!(
            "must be a power of two up to 2048, as blocks up to 4096 and babies from 2 to columns, with 1 to {MAX_PAGES} pages"
        );
        let grid = literal.grid().ok_or_else(|| field("columns", powers))?;
        if literal.records == 0 || literal.records > grid.capacity() {
            return Err(field("records", format!("must lie in 1..={}", grid.capacity())));
        }
        if image_bytes(&grid, literal.records) > MAX_BYTES {
            return Err(field("blocks", "must be such that the image has at most 2^46 bytes".into()));
        }
        let [mask, body] = literal.answer_bits;
        if !MASK_BITS.contains(&mask) || !(*MASK_BITS.start()..=mask).contains(&body) {
            return Err(field(
                "answer_bits",
                format!("must lie in {MASK_BITS:?}, the body's at most the mask's"),
            ));
        }
        let security = ring::security()?;
        let (failure_log2, required) = (bound::record_failure_log2(&grid, &literal), REQUIRED_FAILURE_LOG2);
        if failure_log2 > f64::from(required) {
            return Err(ParamsError::Unreliable { log2: failure_log2, required }.into());
        }
        let (ring, slots) = (ring::ring()?, Slots::new()?);
        Ok(Params { inner: Arc::new(Inner { literal, grid, ring, slots, security, failure_log2 }) })
    }

    fn literal(&self) -> &ParamsLiteral {
        &self.inner.literal
    }

    fn report(&self) -> ParamsReport {
        let (literal, grid) = (&self.inner.literal, &self.grid);
        let variances = Variances::most(grid);
        let deviation = |variance: f64| format!("2^{:.1}", variance.log2() / 2.0);
        ParamsReport {
            digest: ParamsDigest([0; 32]),
            records: literal.records,
            record_bytes: grid.record_bytes() as u64,
            costs: Costs {
                keys_bytes: self.bytes_of(self.key_bodies()) as u64,
                query_bytes: self.bytes_of(self.query_bodies()) as u64,
                answer_bytes: self.answer_bytes() as u64,
                server_ops: server_ops(grid),
                client_ops: CLIENT_OPS,
                resident_bytes: self.image_bytes(),
                ..Costs::default()
            },
            security: self.security.clone(),
            failure_log2: self.failure_log2,
            details: sotto_core::report_details(|| {
                vec![
                    ("ring", format!("{SET}: N = {N}, t = {}, log2 q = {:.1}", ring::T, ring::log2_q())),
                    ("grid: columns, blocks", format!("{} x {}", grid.columns, grid.blocks)),
                    ("grid: baby and giant steps", format!("{} x {}", grid.babies, grid.giants())),
                    ("noise: of a selector", deviation(variances.selector)),
                    ("noise: of a block's product", deviation(variances.product)),
                    ("noise: folded", deviation(variances.folded)),
                    ("noise: packed", deviation(variances.packed)),
                ]
            }),
        }
    }
}

/// Nanoseconds of a transform of N words modulo q, with its share of other work.
const TRANSFORM: f64 = 17_000.0;

/// Cost of a baby step, in transforms: products of its digits take as long as its own transforms.
const BABY_STEP: f64 = 14.0;

/// Operations for a query and for reading its answer.
const CLIENT_OPS: u64 = 700_000_000;

/// Operations for an answer: the pass over the table; transforms of baby steps, of giant steps, of
/// external products and of packing.
fn server_ops(grid: &Grid) -> u64 {
    let switch = |digits: u32| 1.0 + f64::from(digits);
    let babies = grid.babies as f64 * BABY_STEP;
    let block =
        (grid.giants() - 1) as f64 * switch(GIANT.count) + 2.0 * switch(FOLD.count) + switch(PACK.count);
    let transforms = babies + (grid.pages * grid.blocks) as f64 * block;
    grid.table_bytes() * work::READ_BYTE + (transforms * TRANSFORM) as u64 * work::OPS_PER_NANOSECOND
}

fn field(field: &'static str, why: String) -> sotto_core::Error {
    ParamsError::Field { field, why }.into()
}

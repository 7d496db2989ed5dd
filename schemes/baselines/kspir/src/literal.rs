//! Parameters as a catalog states them, the grid and the bits of an answer; and choosing them for a
//! table: the paper's grid, and a smaller one for tables that would leave most of it empty.
//!
//! # Noise
//!
//! In units of 1 modulo q, the error of a packed coefficient's phase is
//!
//! ```text
//!   sum over D of  plaintext times error of a selector      at most t / 2 a coefficient, whatever the table
//! + D / n1 - 1 key switches of giant steps
//! + an external product
//! + packing: log2 r levels of merges, of which each doubles the errors of those before
//! + mask rounding      (q / 2^mask) s r, |r| <= 1/2
//! + body rounding      at most q / 2^(body + 1)
//! ```
//!
//! and a word is read right if that stays below q / 2 t. **For any table**: a client draws secret,
//! errors and the masks of its keys after the table exists, so for given plaintexts the sum is
//! linear in errors that do not depend on them. Rotations have errors in common: those of the
//! vector, of the dropped bits of their gadgets, and of the key that the second half begins with.
//! Plaintexts may be such that these add up and do not average out. So all errors before the switch
//! to q count D times as much as for independent plaintexts; the roundings of that switch do not,
//! since each belongs to another mask.
//!
//! Digits of masks, and the bits rounded off them, are assumed to be independent and uniform, as in
//! the works that this follows. This is heuristic.

use crate::grid::{Grid, MAX_PAGES, PAGE_BYTES};
use crate::keys;
use crate::ring::{self, BABY, CYCLE, FOLD, GIANT, N, NORM, PACK, SET, SIGMA, T, log2_q, log2_special};
use serde::{Deserialize, Serialize};
use sotto_core::{Costs, ParamsError, Result, Security, TableShape, work};
use sotto_lattice::noise::failure_log2;
use sotto_lattice::noise::steps::{self, GadgetNoise};
use sotto_silent::MatrixLiteral;
use sotto_silent::limits::field;
use sotto_silent::message::{Field, Format};
use std::ops::RangeInclusive;

/// The range of the bits of a mask's coefficient in an answer: up to 42 a client's product with the
/// mask is exact.
pub const MASK_BITS: RangeInclusive<u8> = 18..=42;

/// Maximum bytes of an image.
pub const MAX_BYTES: u64 = 1 << 46;

/// Parameters as a catalog states them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Name of the ring: [`SET`].
    pub set: String,
    /// Number of records.
    pub records: u64,
    /// Pages of a record, 8 KiB each.
    pub pages: u32,
    /// Columns of a block, D.
    pub columns: u32,
    /// Blocks, r.
    pub blocks: u32,
    /// Baby steps, n1.
    pub babies: u32,
    /// Bits of a coefficient of an answer: of masks, of bodies.
    pub answer_bits: [u8; 2],
}

impl ParamsLiteral {
    /// The grid. It is valid for checked literals.
    pub fn grid(&self) -> Grid {
        let [pages, columns, blocks, babies] =
            [self.pages, self.columns, self.blocks, self.babies].map(|x| x as usize);
        Grid { pages, columns, blocks, babies }
    }

    /// Bytes of the image: the table, and a copy of the records.
    pub fn image_bytes(&self) -> u64 {
        let grid = self.grid();
        grid.table_bytes().saturating_add(self.records.saturating_mul(grid.record_bytes() as u64))
    }
}

impl MatrixLiteral for ParamsLiteral {
    fn select(shape: &TableShape) -> Result<Self> {
        let why = "it is empty, has rows of more than 2^20 bytes or more than 2^23 records of 8 KiB, \
                   or its lookups fail too often";
        let no_fit = || ParamsError::NoFit { rows: shape.rows, row_bytes: shape.row_bytes, why: why.into() };
        let literal = draft(shape).filter(|literal| literal.grid().is_valid()).ok_or_else(no_fit)?;
        let bits = BODY_BITS
            .flat_map(|body| (body.max(*MASK_BITS.start())..=*MASK_BITS.end()).map(move |mask| [mask, body]));
        let reliable = bits
            .map(|answer_bits| ParamsLiteral { answer_bits, ..literal.clone() })
            .filter(|literal| literal.failure_log2() <= shape.required_failure_log2());
        let fewest = reliable.min_by_key(|literal| literal.answer_bits.map(u32::from).iter().sum::<u32>());
        Ok(fewest.ok_or_else(no_fit)?)
    }

    fn check(&self) -> Result<Security> {
        if self.set != SET {
            return Err(field("set", format!("must be \"{SET}\"")));
        }
        let grid = self.grid();
        if !grid.is_valid() {
            let powers = format!(
                "must be a power of two up to 2048, as blocks up to 4096 and babies from 2 to columns, \
                 with 1 to {MAX_PAGES} pages"
            );
            return Err(field("columns", powers));
        }
        if self.records == 0 || self.records > grid.capacity() {
            return Err(field("records", format!("must lie in 1..={}", grid.capacity())));
        }
        if self.image_bytes() > MAX_BYTES {
            return Err(field("blocks", "must be such that the image has at most 2^46 bytes".into()));
        }
        let [mask, body] = self.answer_bits;
        if !MASK_BITS.contains(&mask) || !(*MASK_BITS.start()..=mask).contains(&body) {
            return Err(field(
                "answer_bits",
                format!("must lie in {MASK_BITS:?}, the body's at most the mask's"),
            ));
        }
        ring::security()
    }

    fn shape(&self) -> [u64; 2] {
        [self.records, self.grid().record_bytes() as u64]
    }

    fn keys(&self) -> Format {
        keys::seeded(keys::key_bodies(&self.grid()))
    }

    fn query(&self) -> Format {
        keys::seeded(keys::query_bodies())
    }

    /// A mask and a body for each page.
    fn answer(&self) -> Format {
        let fields = self.answer_bits.map(|bits| Field::words(N as u64, bits.into()));
        Format::default().and_ciphers(self.pages.into(), fields)
    }

    fn failure_log2(&self) -> f64 {
        let (grid, [mask, body]) = (self.grid(), self.answer_bits);
        let unit = |kept: u8| (log2_q() - f64::from(kept)).exp2();
        let variance = Variances::most(&grid).packed + unit(mask).powi(2) * NORM / 4.0;
        let margin = (log2_q() - 1.0).exp2() / T as f64 - unit(body) / 2.0;
        if margin > 0.0 { failure_log2(margin, variance, (grid.pages * N) as f64) } else { 0.0 }
    }

    fn work(&self) -> Costs {
        Costs {
            server_ops: server_ops(&self.grid()),
            client_ops: CLIENT_OPS,
            resident_bytes: self.image_bytes(),
            ..Costs::default()
        }
    }

    fn details(&self) -> Vec<(&'static str, String)> {
        let grid = self.grid();
        let variances = Variances::most(&grid);
        let deviation = |variance: f64| format!("2^{:.1}", variance.log2() / 2.0);
        vec![
            ("ring", format!("{SET}: N = {N}, t = {}, log2 q = {:.1}", T, log2_q())),
            ("grid: columns, blocks", format!("{} x {}", grid.columns, grid.blocks)),
            ("grid: baby and giant steps", format!("{} x {}", grid.babies, grid.giants())),
            ("noise: of a selector", deviation(variances.selector)),
            ("noise: of a block's product", deviation(variances.product)),
            ("noise: folded", deviation(variances.folded)),
            ("noise: packed", deviation(variances.packed)),
        ]
    }
}

/// The variances after each step, including those of the steps before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Variances {
    /// Variance of a selector modulo q.
    pub selector: f64,
    /// Variance of a block's sum.
    pub product: f64,
    /// Variance after the external product.
    pub folded: f64,
    /// Variance after packing.
    pub packed: f64,
}

impl Variances {
    /// Average variances, for plaintexts with independent coefficients of this mean square.
    pub fn average(grid: &Grid, square: f64) -> Self {
        Self::of(grid, square, grid.columns as f64)
    }

    /// Maximum variances, for any table.
    pub fn most(grid: &Grid) -> Self {
        Self::of(grid, (T as f64 / 2.0).powi(2), (grid.columns as f64).powi(2))
    }

    /// Variances for plaintexts of this mean square, with the common errors of rotations counted
    /// `common` times.
    fn of(grid: &Grid, square: f64, common: f64) -> Self {
        let key = SIGMA * SIGMA;
        let switch = |digits: &GadgetNoise| steps::key_switch(N, digits, log2_q(), key, NORM);
        let baby = steps::key_switch(N, &BABY, log2_q() + log2_special(), key, NORM);
        // The message is rounded to an integer. The second half of baby steps is two of them, one
        // after the other.
        let carried = (key + 1.0 / 12.0 + 2.0 * baby) * (-2.0 * log2_special()).exp2();
        let rounding = steps::lowered(0.0, log2_special(), NORM);
        let sum = grid.columns as f64 * rounding + common * carried;
        let product = N as f64 * square * sum + (grid.giants() - 1) as f64 * switch(&GIANT);
        let folded = product + steps::external_product(N, 1, [&FOLD; 2], log2_q(), [key; 2], NORM);
        let packed = folded + steps::cdks((0..grid.levels()).map(|_| switch(&PACK)));
        Variances { selector: carried + rounding, product, folded, packed }
    }
}

/// Nanoseconds of a transform of N words modulo q, with its share of other work.
const TRANSFORM: f64 = 6_500.0;

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

/// Numbers of bits of an answer's body above those of a word that are tried.
const BODY_BITS: std::ops::RangeInclusive<u8> = 18..=21;

/// The literal without the bits of an answer. With 2048 columns and 128 baby steps it is the
/// paper's.
fn draft(shape: &TableShape) -> Option<ParamsLiteral> {
    if shape.rows == 0 || shape.row_bytes == 0 {
        return None;
    }
    let pages =
        u32::try_from(shape.row_bytes.div_ceil(PAGE_BYTES as u64)).ok().filter(|x| *x <= MAX_PAGES)?;
    let together = (u64::from(pages) * PAGE_BYTES as u64 / shape.row_bytes).max(1);
    let records = shape.rows.div_ceil(together);
    let columns = records.clamp(2, CYCLE as u64).next_power_of_two();
    let blocks = records.div_ceil(columns);
    let blocks = (blocks <= N as u64).then(|| blocks.next_power_of_two())?;
    // A giant step costs a key switch in each block, and a baby step only one.
    let babies = columns.min(2 << columns.ilog2().div_ceil(2));
    let [columns, blocks, babies] = [columns, blocks, babies].map(|x| x as u32);
    Some(ParamsLiteral { set: SET.into(), records, pages, columns, blocks, babies, answer_bits: [0; 2] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KsPir;
    use sotto_silent::MatrixScheme;
    use sotto_testkit::served::selects;

    #[test]
    fn what_is_selected_passes_the_check() {
        selects::<MatrixScheme<KsPir>>(1 << 24, 1 << 21);
    }

    #[test]
    fn large_tables_have_the_papers_grid() {
        for (mib, blocks) in [(16, 1), (256, 16), (1024, 64), (8192, 512)] {
            let literal = ParamsLiteral::select(&TableShape::new(mib << 7, 8192, 1)).unwrap();
            assert_eq!((literal.columns, literal.blocks, literal.babies), (2048, blocks, 128));
        }
        for (rows, row_bytes) in [(1, (1 << 20) + 1), ((1 << 23) + 1, 8192)] {
            assert!(ParamsLiteral::select(&TableShape::new(rows, row_bytes, 1)).is_err());
        }
    }
}

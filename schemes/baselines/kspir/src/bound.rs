//! The noise bound, from a grid to a failure probability.
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

use crate::grid::Grid;
use crate::ring::{BABY, FOLD, GIANT, N, NORM, PACK, SIGMA, T, log2_q, log2_special};
use sotto_lattice::noise::failure_log2;
use sotto_lattice::noise::steps::{self, GadgetNoise};

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

/// Bound on log2 of the probability that any word of a record comes out wrong, for answers of these
/// bits of masks and bodies.
pub fn record_failure_log2(grid: &Grid, [mask, body]: [u8; 2]) -> f64 {
    let unit = |kept: u8| (log2_q() - f64::from(kept)).exp2();
    let variance = Variances::most(grid).packed + unit(mask).powi(2) * NORM / 4.0;
    let margin = (log2_q() - 1.0).exp2() / T as f64 - unit(body) / 2.0;
    if margin > 0.0 { failure_log2(margin, variance, (grid.pages * N) as f64) } else { 0.0 }
}

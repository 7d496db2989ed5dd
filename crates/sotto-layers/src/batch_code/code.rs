//! The sizes of a batch code, and its parameters in a stack.
//!
//! `bound` bounds the failure probability, for requests that were not made against the code's seed.
#![deny(clippy::indexing_slicing)]

use crate::batch_code::bound::FailureBound;
use crate::batch_code::permutation::FeistelDomain;
use crate::batch_code::search_budget::{SearchBudget, THOROUGH};
use crate::batch_code::{BatchCode, NAME};
use serde::{Deserialize, Serialize};
use sotto_core::params::REQUIRED_FAILURE_LOG2;
use sotto_core::{Misuse, ParamsError, Result, json};
use sotto_prg::PublicSeed;

const MAX_ROWS: u64 = 1 << 40;
/// Maximum number of items of a request: a client's work grows with its square.
const MAX_ITEMS: usize = 4096;
const MAX_COPIES: usize = 8;
pub(super) const MAX_BUCKETS: usize = 2048;
/// Maximum number of spare lookups that are tried.
const MAX_SPARE: usize = 4;

/// The sizes of a code, unchecked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeSizes {
    /// Rows of the table, N.
    pub rows: u64,
    /// Maximum number of items of a request, b.
    pub items: usize,
    /// Copies of each row, in one bucket each, w.
    pub copies: usize,
    /// Buckets among which a copy of the table is divided, g. Each gets one lookup.
    pub buckets: usize,
    /// Lookups in the whole table, s.
    pub spare: usize,
}

impl CodeSizes {
    /// The cheapest sizes with a sufficient failure bound: the product of rows read and of lookups
    /// is minimal.
    ///
    /// Rows are the cost of a request where a server's pass over its data dominates, and lookups
    /// where messages do. The product favors neither: a code that reads a tenth more with a tenth
    /// fewer lookups is equally good. Small requests get lookups in the whole table and nothing
    /// else, large ones none.
    ///
    /// # Errors
    /// [`ParamsError::NoFit`] if there are no rows or items, more than 2^40 rows, or more than 4096
    /// items.
    pub fn fit(rows: u64, items: usize) -> Result<CodeSizes, ParamsError> {
        if !(1..=MAX_ROWS).contains(&rows) || !(1..=MAX_ITEMS).contains(&items) {
            let why = format!("expected 1 to {MAX_ITEMS} items and at most 2^40 rows");
            return Err(ParamsError::NoFit { rows, row_bytes: 0, why });
        }
        let required = f64::from(REQUIRED_FAILURE_LOG2);
        let spares = if items > THOROUGH { 1 } else { items.min(MAX_SPARE) };
        let bound = FailureBound::new(rows, items, MAX_BUCKETS);
        let mut best = CodeSizes { rows, items, copies: 0, buckets: 0, spare: items };
        for copies in 1..=MAX_COPIES {
            for spare in 0..spares {
                let with = |buckets: usize| CodeSizes { rows, items, copies, buckets, spare };
                let suffice = |buckets| bound.log2(copies, buckets, spare, required) <= required;
                // The search starts with the most buckets that cost less, and looks for the fewest
                // that suffice: more buckets fail less often.
                let cheaper = (best.weight() - 1) / (copies + spare);
                let mut max = (cheaper.saturating_sub(spare) / copies).min(MAX_BUCKETS);
                let mut min = 1;
                if max < min || !suffice(max) {
                    continue;
                }
                while min < max {
                    let middle = (min + max) / 2;
                    if suffice(middle) { max = middle } else { min = middle + 1 }
                }
                best = with(max);
            }
        }
        if best.copies == 0 && items > THOROUGH {
            let why = format!("no batch code of {MAX_COPIES} copies serves {items} items");
            return Err(ParamsError::NoFit { rows, row_bytes: 0, why });
        }
        Ok(best)
    }

    /// The code with a copy of the whole table for each item, of which each gets one lookup; `None` if
    /// those are more copies than a code may have, or only one. Rows read and lookups are those of
    /// lookups in the whole table, and no request fails.
    pub fn copied(&self) -> Option<CodeSizes> {
        let CodeSizes { rows, items, .. } = *self;
        let sizes = CodeSizes { rows, items, copies: items, buckets: 1, spare: 0 };
        (2..=MAX_COPIES).contains(&items).then_some(sizes)
    }

    /// The price: rows read, in whole tables, times lookups.
    fn weight(&self) -> usize {
        (self.copies + self.spare) * self.lookups()
    }

    /// Base-2 logarithm of a bound on the failure probability of a request that was not made
    /// against the seed.
    pub fn failure_log2(&self) -> f64 {
        let bound = FailureBound::new(self.rows, self.items, MAX_BUCKETS);
        bound.log2(self.copies, self.buckets, self.spare, f64::INFINITY)
    }

    /// Lookups of every request.
    pub fn lookups(&self) -> usize {
        self.copies * self.buckets + self.spare
    }

    /// Rows of each bucket, c.
    pub fn bucket_rows(&self) -> u64 {
        FeistelDomain::new(self.rows).len().div_ceil(self.buckets.max(1) as u64)
    }

    /// The number of steps in which a client assigns buckets to items.
    pub fn search_budget(&self) -> SearchBudget {
        SearchBudget::of(self.items)
    }

    /// Checks the sizes.
    ///
    /// # Errors
    /// [`Misuse::Rule`] for a number out of its range, [`ParamsError::Unreliable`] if requests
    /// would fail too often.
    pub fn check(&self) -> Result<()> {
        let CodeSizes { rows, items, copies, buckets, spare } = *self;
        let ranges = (1..=MAX_ROWS).contains(&rows)
            && (1..=MAX_ITEMS).contains(&items)
            && copies <= MAX_COPIES
            && buckets <= MAX_BUCKETS
            && spare <= items
            && (spare == 0 || items <= THOROUGH)
            && (copies == 0) == (buckets == 0);
        if !ranges {
            return Err(Misuse::Rule(
                "a batch code must have 1 to 2^40 rows, 1 to 4096 items, at most 8 copies, at most 2048 buckets in each, and \
                 spare lookups for at most 256 items",
            )
            .into());
        }
        let (log2, required) = (self.failure_log2(), REQUIRED_FAILURE_LOG2);
        if log2 > f64::from(required) {
            return Err(ParamsError::Unreliable { log2, required }.into());
        }
        Ok(())
    }
}

/// The parameters that client and publisher must agree on. A stack has them under [`NAME`], as the
/// last of its layers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Rows of the table.
    pub rows: u64,
    /// Maximum rows of a request.
    pub batch: usize,
    /// Copies of each row, in one bucket each.
    pub copies: usize,
    /// Buckets among which a copy of the table is divided.
    pub buckets: usize,
    /// Lookups in the whole table. If there are any, it is a table of the stack too, after the
    /// buckets.
    pub spare: usize,
    /// The seed of the permutations, drawn when the buckets are written.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub seed: PublicSeed,
}

impl Params {
    /// The parameters of a code of these sizes.
    pub fn new(sizes: CodeSizes, seed: PublicSeed) -> Self {
        let CodeSizes { rows, items, copies, buckets, spare } = sizes;
        Params { rows, batch: items, copies, buckets, spare, seed }
    }

    /// Reads and checks the parameters of a stack. Total: any bytes give parameters or an error.
    ///
    /// # Errors
    /// [`ParamsError::Field`], and those of [`CodeSizes::check`].
    pub fn parse(text: &[u8]) -> Result<Self> {
        let plain =
            |e: serde_json::Error| e.to_string().chars().filter(|c| !c.is_control()).take(200).collect();
        let params: Params =
            json::from_slice(text).map_err(|e| ParamsError::Field { field: NAME, why: plain(e) })?;
        params.sizes().check()?;
        Ok(params)
    }

    /// The sizes of the code.
    pub fn sizes(&self) -> CodeSizes {
        let Params { rows, batch, copies, buckets, spare, .. } = *self;
        CodeSizes { rows, items: batch, copies, buckets, spare }
    }

    /// The code with these parameters.
    ///
    /// # Errors
    /// The errors of [`CodeSizes::check`].
    pub fn code(&self) -> Result<BatchCode> {
        BatchCode::new(self.sizes(), &self.seed)
    }
}

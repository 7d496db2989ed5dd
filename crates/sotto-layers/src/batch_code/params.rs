//! The parameters of a batch code in a stack.
#![deny(clippy::indexing_slicing)]

use super::code::CodeSizes;
use super::{BatchCode, NAME};
use serde::{Deserialize, Serialize};
use sotto_core::{ParamsError, Result};
use sotto_prg::PublicSeed;

/// The parameters that client and publisher must agree on. A stack has them under [`NAME`], as the
/// last of its layers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
            serde_json::from_slice(text).map_err(|e| ParamsError::Field { field: NAME, why: plain(e) })?;
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
    /// Those of [`CodeSizes::check`].
    pub fn code(&self) -> Result<BatchCode> {
        BatchCode::new(self.sizes(), &self.seed)
    }
}

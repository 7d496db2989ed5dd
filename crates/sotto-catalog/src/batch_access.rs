//! Layers of a stack whose tables are the buckets of a batch code: how rows are named, and which
//! buckets contain them.
//!
//! ```text
//! layers   range/1 | keyword/1 | nothing, where rows are named by number
//!          pbc/1
//! ```

use crate::stack::Stack;
use crate::{CatalogError, LayerEntry, Result, TableKind};
use serde_json::{Value, json};
use sotto_core::Compose;
use sotto_layers::batch_code::{self, BatchCode};
use sotto_layers::keyword::{self, Keyword, MultiKeyword};

/// Name of the layer of a table whose rows hold the values of blocks of keys. Its parameters are
/// those of [`TableKind::Range`].
pub const RANGE: &str = "range/1";

/// Kind of lookups in a stack over a batch code.
#[derive(Debug)]
pub enum BatchAccess {
    /// Lookups of rows, by number or by a key of the block that the row stands for.
    Rows {
        /// Kind of the table, index or range, which says how rows are named.
        kind: TableKind,
        /// Batch code that places rows in buckets.
        code: BatchCode,
    },
    /// Lookups of values by key.
    Keys(Compose<MultiKeyword, BatchCode>),
}

impl BatchAccess {
    /// Layers of a stack for a table of this kind over a batch code.
    pub fn layers(kind: &TableKind, layers: &[LayerEntry], code: &batch_code::Params) -> Vec<LayerEntry> {
        let named = |name: &str, params: Value| LayerEntry { name: name.to_owned(), params };
        let range = json!(kind).get("range").map(|params| named(RANGE, params.clone()));
        let above = range.into_iter().chain(layers.iter().cloned());
        above.chain([named(batch_code::NAME, json!(code))]).collect()
    }

    /// Reads the layers of a stack; `None` if the last of them is not a batch code.
    ///
    /// # Errors
    /// [`CatalogError::Params`] for parameters that are invalid, or fail too often;
    /// [`CatalogError::UnknownLayer`] for a layer above the code that this build does not know;
    /// [`CatalogError::Invalid`] if the layers do not fit each other.
    pub fn of(stack: &Stack) -> Result<Option<Self>> {
        let Some((last, above)) = stack.layers.split_last().filter(|(last, _)| last.name == batch_code::NAME)
        else {
            return Ok(None);
        };
        let code = batch_code::Params::parse(last.params.to_string().as_bytes())?.code()?;
        let rows = code.sizes().rows;
        match above {
            [] => Ok(Some(BatchAccess::Rows { kind: TableKind::Index, code })),
            [layer] if layer.name == RANGE => {
                let kind: TableKind = sotto_core::json::from_value(&json!({ "range": layer.params }))
                    .map_err(|e| CatalogError::malformed("layer of ranges", &e))?;
                // The width of rows is in the tables' catalogs, and clients do not fill up empty
                // rows.
                kind.check(rows, u64::MAX)?;
                Ok(Some(BatchAccess::Rows { kind, code }))
            }
            [layer] if layer.name == keyword::NAME => {
                let keyword = Keyword::parse(layer.params.to_string().as_bytes())?;
                let most = code.sizes().items / keyword.params().probes.max(1) as usize;
                if keyword.params().rows != rows || keyword.params().band.is_some() || most == 0 {
                    let why = "expected a batch code for the rows that hold keys, and for at least the rows of one \
                         key";
                    return Err(CatalogError::invalid("layers", why));
                }
                Ok(Some(BatchAccess::Keys(Compose(MultiKeyword::new(keyword, most), code))))
            }
            [layer, ..] => Err(CatalogError::UnknownLayer(layer.name.chars().take(64).collect())),
        }
    }

    /// Batch code of the stack.
    pub fn code(&self) -> &BatchCode {
        match self {
            BatchAccess::Rows { code, .. } | BatchAccess::Keys(Compose(_, code)) => code,
        }
    }

    /// Largest number of rows, or of keys, in a round.
    pub fn max_batch(&self) -> usize {
        match self {
            BatchAccess::Rows { code, .. } => code.sizes().items,
            BatchAccess::Keys(Compose(keywords, _)) => keywords.most(),
        }
    }
}

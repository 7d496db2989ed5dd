//! What a stack says whose tables are the buckets of a batch code: how rows are named, and which buckets have them.
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

/// The layer of a table whose rows stand for blocks of keys. Its parameters are those of [`TableKind::Range`].
pub const RANGE: &str = "range/1";

/// What is asked of such a stack.
#[derive(Debug)]
pub enum BatchAccess {
    /// Rows, by number or by a key of the block that they stand for.
    Rows {
        /// How they are named: an index table, or a range table.
        kind: TableKind,
        /// Which buckets have them.
        code: BatchCode,
    },
    /// Values, by key.
    Keys(Compose<MultiKeyword, BatchCode>),
}

impl BatchAccess {
    /// A stack's layers: those of a table of this kind, over a code.
    pub fn layers(kind: &TableKind, layers: &[LayerEntry], code: &batch_code::Params) -> Vec<LayerEntry> {
        let named = |name: &str, params: Value| LayerEntry { name: name.to_owned(), params };
        let range = json!(kind).get("range").map(|params| named(RANGE, params.clone()));
        let above = range.into_iter().chain(layers.iter().cloned());
        above.chain([named(batch_code::NAME, json!(code))]).collect()
    }

    /// What a stack's layers say; `None` if the last of them is no batch code.
    ///
    /// # Errors
    /// [`CatalogError::Params`] for parameters that are none, or fail too often; [`CatalogError::UnknownLayer`] for a layer above
    /// the code that this build does not know; [`CatalogError::Invalid`] if the layers do not fit each other.
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
                let kind: TableKind = serde_json::from_value(json!({ "range": layer.params }))
                    .map_err(|e| CatalogError::malformed("layer of ranges", &e))?;
                // How wide rows are is in the tables' catalogs, and no client fills empty ones up.
                kind.check(rows, u64::MAX)?;
                Ok(Some(BatchAccess::Rows { kind, code }))
            }
            [layer] if layer.name == keyword::NAME => {
                let keyword = Keyword::parse(layer.params.to_string().as_bytes())?;
                let most = code.sizes().items / keyword.params().probes.max(1) as usize;
                if keyword.params().rows != rows || keyword.params().band.is_some() || most == 0 {
                    let why = "the code is for the rows where keys lie, and for those of one key at least";
                    return Err(CatalogError::invalid("layers", why));
                }
                Ok(Some(BatchAccess::Keys(Compose(MultiKeyword::new(keyword, most), code))))
            }
            [layer, ..] => Err(CatalogError::UnknownLayer { name: layer.name.chars().take(64).collect() }),
        }
    }

    /// The code.
    pub fn code(&self) -> &BatchCode {
        match self {
            BatchAccess::Rows { code, .. } | BatchAccess::Keys(Compose(_, code)) => code,
        }
    }

    /// The most rows of a round, or the most keys.
    pub fn max_batch(&self) -> usize {
        match self {
            BatchAccess::Rows { code, .. } => code.sizes().items,
            BatchAccess::Keys(Compose(keywords, _)) => keywords.most(),
        }
    }
}

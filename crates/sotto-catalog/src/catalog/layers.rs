//! The layers of a catalog that say how rows are masked and how values stand in them.

use crate::row_form::{self, RowForm};
use crate::symmetric::{self, SymmetricLayer};
use crate::{Catalog, CatalogError, LayerEntry, Result, TableKind, ValueKind};
use sotto_core::ParamsError;
use sotto_oprf::{OVERHEAD_BYTES, PublicKey, SUITE};

impl RowForm {
    /// Form of a catalog's rows, without their masks.
    pub(crate) fn of(catalog: &Catalog, item_bytes: u64) -> Result<Self> {
        let Some(layer) = catalog.layers.iter().find(|layer| layer.name == row_form::NAME) else {
            let is_text = catalog.value == ValueKind::Text && catalog.kind != TableKind::Keyword;
            return Ok(if is_text { RowForm::Text } else { RowForm::Whole });
        };
        let params: row_form::Params = serde_json::from_value(layer.params.clone())
            .map_err(|e| CatalogError::malformed("layer of lengths", &e))?;
        let form = RowForm::Length(params.bytes);
        let longest = item_bytes.checked_sub(form.overhead()).filter(|longest| *longest > 0);
        let fits = |longest: &u64| {
            params.bytes <= row_form::MAX_LENGTH_BYTES && RowForm::for_lengths_up_to(*longest) == form
        };
        if longest.filter(fits).is_none() {
            let why = "expected a length of 1 to 4 bytes, no longer than the longest value needs";
            return Err(CatalogError::invalid("layers", why));
        }
        if let TableKind::Range { empty, .. } = &catalog.kind
            && longest.is_some_and(|longest| empty.0.len() as u64 > longest)
        {
            return Err(CatalogError::invalid("kind.empty", "the empty value is longer than a value"));
        }
        Ok(form)
    }
}

impl SymmetricLayer {
    /// Reads the layer of a catalog.
    pub(crate) fn of(catalog: &Catalog, layer: &LayerEntry) -> Result<Self> {
        let params: symmetric::Params = serde_json::from_value(layer.params.clone())
            .map_err(|e| CatalogError::malformed("layer of masks", &e))?;
        if params.suite != SUITE {
            let why = format!("expected a mask of suite {SUITE}");
            return Err(CatalogError::invalid("layers", why));
        }
        let refused =
            |e: sotto_oprf::OprfError| ParamsError::Field { field: "public_key", why: e.to_string() };
        let key = PublicKey::from_bytes(params.public_key.0)
            .map_err(|e| CatalogError::Params(refused(e).into()))?;
        let item_bytes = catalog.row_bytes.checked_sub(OVERHEAD_BYTES as u64).filter(|bytes| *bytes > 0);
        let narrow = || CatalogError::invalid("row_bytes", "expected at least 25 bytes for a masked row");
        let item_bytes = item_bytes.ok_or_else(narrow)?;
        if let TableKind::Range { empty, .. } = &catalog.kind
            && empty.0.len() as u64 > item_bytes
        {
            return Err(CatalogError::invalid("kind.empty", "the empty value is longer than a row"));
        }
        Ok(SymmetricLayer { key, item_bytes })
    }
}

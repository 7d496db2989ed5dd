//! The layer of a symmetric table: its rows are masked, and each is opened by one evaluation of an
//! oblivious function.

use crate::{Catalog, CatalogError, Hex32, LayerEntry, Result, TableKind};
use serde::{Deserialize, Serialize};
use sotto_core::ParamsError;
use sotto_oprf::{OVERHEAD_BYTES, PublicKey, SUITE};

/// Name of the layer in a catalog.
pub const NAME: &str = "oprf/1";

/// Parameters of the layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Ciphersuite, always [`SUITE`].
    pub suite: String,
    /// Public key under which evaluations are proved.
    pub public_key: Hex32,
}

/// Masking of a symmetric table. A value from [`Catalog::symmetric_layer`] is consistent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SymmetricLayer {
    /// Public key under which evaluations are proved.
    pub key: PublicKey,
    /// Bytes of a row without its mask.
    pub item_bytes: u64,
}

impl SymmetricLayer {
    /// Layer of a table that is masked under the secret key of this public key.
    pub fn layer(key: &PublicKey) -> LayerEntry {
        let params = Params { suite: SUITE.to_owned(), public_key: (*key.bytes()).into() };
        LayerEntry { name: NAME.to_owned(), params: serde_json::json!(params) }
    }

    /// Reads the layer of a catalog.
    pub(crate) fn of(catalog: &Catalog, layer: &LayerEntry) -> Result<Self> {
        let params: Params = serde_json::from_value(layer.params.clone())
            .map_err(|e| CatalogError::malformed("layer of masks", &e))?;
        if params.suite != SUITE {
            let why = format!("masked with a function of another suite than {SUITE}");
            return Err(CatalogError::invalid("layers", why));
        }
        let refused =
            |e: sotto_oprf::OprfError| ParamsError::Field { field: "public_key", why: e.to_string() };
        let key = PublicKey::from_bytes(params.public_key.0)
            .map_err(|e| CatalogError::Params(refused(e).into()))?;
        let item_bytes = catalog.row_bytes.checked_sub(OVERHEAD_BYTES as u64).filter(|bytes| *bytes > 0);
        let narrow = || CatalogError::invalid("row_bytes", "a masked row has at least 25 bytes");
        let item_bytes = item_bytes.ok_or_else(narrow)?;
        if let TableKind::Range { empty, .. } = &catalog.kind
            && empty.0.len() as u64 > item_bytes
        {
            return Err(CatalogError::invalid("kind.empty", "the empty value is longer than a row"));
        }
        Ok(SymmetricLayer { key, item_bytes })
    }
}

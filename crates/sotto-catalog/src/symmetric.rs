//! The layer of a symmetric table: its rows are masked, and each is opened by one evaluation of an
//! oblivious function.

use crate::Hex32;
use crate::table::LayerEntry;
use serde::{Deserialize, Serialize};
use sotto_oprf::{PublicKey, SUITE};

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

/// Masking of a symmetric table. A value from [`crate::Catalog::symmetric_layer`] is consistent.
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
}

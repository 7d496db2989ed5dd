//! A layer of a table, as a catalog has it.

use serde::{Deserialize, Serialize};

/// Name and parameters of a layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayerEntry {
    /// Name of the layer, with its version.
    pub name: String,
    /// Parameters of the layer.
    pub params: serde_json::Value,
}

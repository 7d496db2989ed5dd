//! Where tables are in memory, and on which pages.

use prometheus_client::encoding::EncodeLabelSet;

/// Label of the bytes of a table's live epochs: in the mapped `file` or in `memory`, on `huge`
/// pages, `small` ones, or `unknown`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct PlacementLabel {
    pub(crate) table: String,
    pub(crate) medium: &'static str,
    pub(crate) pages: &'static str,
}

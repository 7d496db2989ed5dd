//! Where tables are in memory, and on which pages.

use super::Metrics;
use crate::epochs::LiveEpochs;
use prometheus_client::encoding::EncodeLabelSet;

/// Label of the bytes of a table's live epochs: in the mapped `file` or in `memory`, on `huge`
/// pages, `small` ones, or `unknown`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct PlacementLabel {
    pub(super) table: String,
    pub(super) place: &'static str,
    pub(super) pages: &'static str,
}

impl Metrics {
    /// Sets the gauges of a table. A placement that no longer occurs is set to 0.
    pub(super) fn lies(&self, table: &str, live: &LiveEpochs) {
        for (place, is_copy) in [("file", false), ("memory", true)] {
            let (mut huge, mut small, mut unknown) = (0, 0, 0);
            for it in live.all().filter_map(|table| table.residence()).filter(|it| it.is_copy == is_copy) {
                match it.huge_share {
                    Some(share) => {
                        let on_huge = (it.bytes as f64 * share) as u64;
                        huge += on_huge;
                        small += it.bytes.saturating_sub(on_huge);
                    }
                    None => unknown += it.bytes,
                }
            }
            for (pages, bytes) in [("huge", huge), ("small", small), ("unknown", unknown)] {
                let label = PlacementLabel { table: table.to_owned(), place, pages };
                self.lying.get_or_create(&label).set(i64::try_from(bytes).unwrap_or(i64::MAX));
            }
        }
    }
}

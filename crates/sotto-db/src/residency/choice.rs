//! Decides whether a copy pays, as a pure function.

use super::Residency;
use std::fmt;

/// Bytes below which a table stays where it is: the processor's caches hold most of it, and its
/// address translations.
const LITTLE: u64 = 8 << 20;

/// Inputs of the decision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PlacementInputs {
    /// Bytes that answers are computed from.
    pub(super) bytes: u64,
    /// Share of the mapped file that is on huge pages, if the system reports it.
    pub(super) huge_share: Option<f64>,
    /// Whether anonymous memory can be on huge pages.
    pub(super) has_huge_pages: bool,
    /// Bytes that copies may still take.
    pub(super) budget_left: u64,
}

/// Reason for the placement of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlacementReason {
    /// The operator requested it.
    Requested,
    /// The table is so small that it makes no difference.
    TableIsSmall,
    /// Most of the file is already on huge pages.
    FileOnHugePages,
    /// Most of the file is on small pages.
    FileOnSmallPages,
    /// The system does not report the pages of the file.
    Unknown,
    /// The file is on small pages, and a copy would be too.
    NoHugePages,
    /// The file is on small pages, and a copy exceeds the copy budget.
    OverCopyBudget,
}

/// Whether to copy, and the reason.
pub(super) fn choose(residency: Residency, facts: &PlacementInputs) -> (bool, PlacementReason) {
    match residency {
        Residency::Copy => (true, PlacementReason::Requested),
        Residency::Map => (false, PlacementReason::Requested),
        Residency::Auto if facts.bytes < LITTLE => (false, PlacementReason::TableIsSmall),
        Residency::Auto => match facts.huge_share {
            None => (false, PlacementReason::Unknown),
            Some(share) if share >= 0.5 => (false, PlacementReason::FileOnHugePages),
            Some(_) if !facts.has_huge_pages => (false, PlacementReason::NoHugePages),
            Some(_) if facts.bytes > facts.budget_left => (false, PlacementReason::OverCopyBudget),
            Some(_) => (true, PlacementReason::FileOnSmallPages),
        },
    }
}

impl fmt::Display for PlacementReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PlacementReason::Requested => "as requested",
            PlacementReason::TableIsSmall => "a copy of a small table gains nothing",
            PlacementReason::FileOnHugePages => "the file is on huge pages already",
            PlacementReason::FileOnSmallPages => "the file's pages are small",
            PlacementReason::Unknown => "the system does not tell the file's page size",
            PlacementReason::NoHugePages => "the system provides no huge pages",
            PlacementReason::OverCopyBudget => "a copy exceeds the copy budget",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice() {
        let small = PlacementInputs {
            bytes: 1 << 30,
            huge_share: Some(0.0),
            has_huge_pages: true,
            budget_left: 1 << 30,
        };
        let share = |share| PlacementInputs { huge_share: share, ..small };
        let cases = [
            (small, (true, PlacementReason::FileOnSmallPages)),
            (share(Some(0.49)), (true, PlacementReason::FileOnSmallPages)),
            (share(Some(0.5)), (false, PlacementReason::FileOnHugePages)),
            (share(Some(1.0)), (false, PlacementReason::FileOnHugePages)),
            (share(Some(f64::NAN)), (true, PlacementReason::FileOnSmallPages)),
            (share(None), (false, PlacementReason::Unknown)),
            (
                PlacementInputs { budget_left: small.bytes - 1, ..small },
                (false, PlacementReason::OverCopyBudget),
            ),
            (PlacementInputs { has_huge_pages: false, ..small }, (false, PlacementReason::NoHugePages)),
            (PlacementInputs { bytes: LITTLE - 1, ..small }, (false, PlacementReason::TableIsSmall)),
            (PlacementInputs { bytes: LITTLE, ..small }, (true, PlacementReason::FileOnSmallPages)),
            (PlacementInputs { bytes: 0, ..small }, (false, PlacementReason::TableIsSmall)),
            (PlacementInputs { bytes: u64::MAX, ..small }, (false, PlacementReason::OverCopyBudget)),
        ];
        for (facts, choice) in cases {
            assert_eq!(choose(Residency::Auto, &facts), choice, "{facts:?}");
            assert_eq!(choose(Residency::Copy, &facts), (true, PlacementReason::Requested), "{facts:?}");
            assert_eq!(choose(Residency::Map, &facts), (false, PlacementReason::Requested), "{facts:?}");
        }
    }
}

//! Whether a copy pays, as a function of what is known.

use super::Residency;
use std::fmt;

/// A table of fewer bytes stays where it is: caches of the processor hold most of it, and its translations.
const LITTLE: u64 = 8 << 20;

/// What a choice is made from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Facts {
    /// Bytes that answers are made from.
    pub(super) bytes: u64,
    /// The share of the mapped file that is on huge pages, if the system says so.
    pub(super) huge_share: Option<f64>,
    /// Whether memory comes in huge pages at all.
    pub(super) has_huge_pages: bool,
    /// Bytes that copies may take yet.
    pub(super) room: u64,
}

/// Why a table lies where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// The operator said so.
    Asked,
    /// It has so few bytes that it makes no difference.
    Little,
    /// Most of the file is on huge pages as it is.
    HugeFile,
    /// Most of the file is on small pages.
    SmallFile,
    /// The system does not say what the file is on.
    Unknown,
    /// The file is on small pages, and so would a copy be.
    NoHugePages,
    /// The file is on small pages, and a copy is more than copies may take.
    NoRoom,
}

/// Whether to copy, and why.
pub(super) fn choose(residency: Residency, facts: &Facts) -> (bool, Why) {
    match residency {
        Residency::Copy => (true, Why::Asked),
        Residency::Map => (false, Why::Asked),
        Residency::Auto if facts.bytes < LITTLE => (false, Why::Little),
        Residency::Auto => match facts.huge_share {
            None => (false, Why::Unknown),
            Some(share) if share >= 0.5 => (false, Why::HugeFile),
            Some(_) if !facts.has_huge_pages => (false, Why::NoHugePages),
            Some(_) if facts.bytes > facts.room => (false, Why::NoRoom),
            Some(_) => (true, Why::SmallFile),
        },
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::Asked => "as asked",
            Why::Little => "a copy of so few bytes gains nothing",
            Why::HugeFile => "a copy would gain nothing",
            Why::SmallFile => "the file's pages are small",
            Why::Unknown => "this system does not say what the file's pages are",
            Why::NoHugePages => "the system gives no huge ones",
            Why::NoRoom => "a copy is more than copies may take",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice() {
        let small = Facts { bytes: 1 << 30, huge_share: Some(0.0), has_huge_pages: true, room: 1 << 30 };
        let share = |share| Facts { huge_share: share, ..small };
        let cases = [
            (small, (true, Why::SmallFile)),
            (share(Some(0.49)), (true, Why::SmallFile)),
            (share(Some(0.5)), (false, Why::HugeFile)),
            (share(Some(1.0)), (false, Why::HugeFile)),
            (share(Some(f64::NAN)), (true, Why::SmallFile)),
            (share(None), (false, Why::Unknown)),
            (Facts { room: small.bytes - 1, ..small }, (false, Why::NoRoom)),
            (Facts { has_huge_pages: false, ..small }, (false, Why::NoHugePages)),
            (Facts { bytes: LITTLE - 1, ..small }, (false, Why::Little)),
            (Facts { bytes: LITTLE, ..small }, (true, Why::SmallFile)),
            (Facts { bytes: 0, ..small }, (false, Why::Little)),
            (Facts { bytes: u64::MAX, ..small }, (false, Why::NoRoom)),
        ];
        for (facts, choice) in cases {
            assert_eq!(choose(Residency::Auto, &facts), choice, "{facts:?}");
            assert_eq!(choose(Residency::Copy, &facts), (true, Why::Asked), "{facts:?}");
            assert_eq!(choose(Residency::Map, &facts), (false, Why::Asked), "{facts:?}");
        }
    }
}

//! The time of day, and until when a catalog is valid.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970; 0 on a clock that is before.
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The time of creation of what is signed now, and its expiry after `lifetime` seconds; `None` for
/// no expiry.
pub(crate) fn validity(lifetime: Option<u64>) -> (u64, Option<u64>) {
    let created = unix_seconds();
    (created, lifetime.map(|lifetime| created.saturating_add(lifetime)))
}

//! The time of day.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970; 0 on a clock that is before.
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

//! A clock that never goes back, over restarts too: what it says at a start is the time of day, and no less than what an
//! earlier run has written down; from there on it counts what the system's own clock counts, whoever sets the time of day.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Gives the time in nanoseconds since 1970, about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    began: Instant,
    at: u64,
}

impl Clock {
    /// One that says `at` now.
    pub(crate) fn starting(at: u64) -> Self {
        Clock { began: Instant::now(), at }
    }

    /// What it says at an instant; at one before its start, what it said then.
    pub(crate) fn at(&self, now: Instant) -> u64 {
        self.at.saturating_add(nanos(now.saturating_duration_since(self.began)))
    }
}

/// The time of day.
pub(crate) fn of_day() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO)
}

/// A time in nanoseconds; those past 584 years are all alike.
pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

//! A clock that never goes back, even across restarts. At a start it shows the time of day, and no
//! less than what an earlier run has stored; from then on it follows the system's monotonic clock,
//! even if the time of day is set.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A monotonic clock of approximate nanoseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    began: Instant,
    at: u64,
}

impl Clock {
    /// A clock that shows `at` now.
    pub(crate) fn starting(at: u64) -> Self {
        Clock { began: Instant::now(), at }
    }

    /// The time of the clock at an instant; for an instant before its start, the time of the start.
    pub(crate) fn at(&self, now: Instant) -> u64 {
        self.at.saturating_add(nanos(now.saturating_duration_since(self.began)))
    }
}

/// The time of day.
pub(crate) fn of_day() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO)
}

/// A duration in nanoseconds; durations of more than 584 years are all the same.
pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

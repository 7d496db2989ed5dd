//! The time for which a peer may keep bytes of a response waiting: a fixed time, and more with each
//! byte that it reads.

use crate::config::SendRate;
use std::time::Duration;

/// The time that a peer has left. It grows with the bytes that the peer reads, and never beyond the
/// fixed time: a peer that reads fast at first cannot pause for long later.
#[derive(Debug)]
pub(super) struct SendTime {
    rate: SendRate,
    left: Duration,
}

impl SendTime {
    pub(super) fn new(rate: SendRate) -> Self {
        SendTime { rate, left: rate.grace }
    }

    /// Maximum time until the last of `bytes` bytes is read.
    pub(super) fn limit(&self, bytes: usize) -> Duration {
        self.left.saturating_add(self.of(bytes))
    }

    /// Records that `bytes` bytes were read after `waited`.
    pub(super) fn taken(&mut self, bytes: usize, waited: Duration) {
        self.left = self.limit(bytes).saturating_sub(waited).min(self.rate.grace);
    }

    fn of(&self, bytes: usize) -> Duration {
        let millis = (bytes as u64).saturating_mul(1000) / self.rate.bytes_per_second.max(1);
        Duration::from_millis(millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trickle_runs_out_of_time_and_a_slow_reader_does_not() {
        let second = Duration::from_secs(1);
        let rate = SendRate { grace: 60 * second, bytes_per_second: 1000 };
        let mut trickle = SendTime::new(rate);
        assert_eq!(trickle.limit(5000), 65 * second);
        for _ in 0..2 {
            trickle.taken(1, 29 * second);
        }
        assert!(trickle.limit(1) < 3 * second, "a byte now and then is not reading");
        let mut slow = SendTime::new(rate);
        for _ in 0..1000 {
            slow.taken(1000, second);
        }
        assert_eq!(slow.limit(0), 60 * second);
        slow.taken(1 << 30, second);
        assert_eq!(slow.limit(0), 60 * second, "what was read fast is no time to stop in");
    }
}

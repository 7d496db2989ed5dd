//! Work whose duration reveals nothing: it ends at a fixed time after it began.
//!
//! The thread sleeps until then, so that later work on the same thread does not begin earlier
//! either.

use std::time::{Duration, Instant};

/// Runs `work`, and returns a multiple of `slot` after it began: the first, unless the machine is
/// slower than that.
pub(super) fn in_fixed_time<T>(slot: Duration, work: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let done = work();
    let end = end(began.elapsed(), slot);
    std::thread::sleep(end.saturating_sub(began.elapsed()));
    done
}

/// The time at which work of this duration ends.
fn end(took: Duration, slot: Duration) -> Duration {
    let slots = took.as_nanos() / slot.as_nanos().max(1) + 1;
    slot.saturating_mul(u32::try_from(slots).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_does_not_depend_on_what_the_work_took() {
        let slot = Duration::from_millis(50);
        for micros in [0, 1, 3_000, 7_123, 49_999] {
            assert_eq!(end(Duration::from_micros(micros), slot), slot, "{micros}");
        }
        assert_eq!(end(slot, slot), 2 * slot);
        assert_eq!(end(Duration::from_micros(120_001), slot), 3 * slot);
        assert_eq!(in_fixed_time(Duration::from_micros(1), || 7), 7);
    }
}

//! A thread that uses a processor only when no lookup needs it.

use super::rate_limit::{Clock, PauseReason, PreparationSignal};
use sotto_core::cooperative::with_yield_hook;
use std::sync::Arc;
use std::time::Duration;

/// Increment of the thread's nice value: a scheduler gives ten times as much time to a thread
/// without it.
#[cfg(target_os = "linux")]
const NICER: i32 = 10;
/// Length of the pause after each piece of work, as a multiple of its duration. Together with the
/// server's half, new keys then take less than the quarter of the old keys' lifetime that is left
/// for them, at 3 ms a lookup.
const PAUSE: u32 = 7;
/// Maximum pause: if a piece takes longer, the thread was interrupted.
const LONGEST: Duration = Duration::from_millis(5);

/// Runs `work` on this thread, with low priority from here on. Its pieces run one at a time with
/// pauses in between, unless a caller is in a hurry: so lookups share one core with an eighth of
/// the work for a while, and not with all of it at once.
pub(super) fn at_low_priority<T>(
    signal: Arc<PreparationSignal>,
    clock: Arc<dyn Clock>,
    work: impl FnOnce() -> T,
) -> T {
    // Only Linux has priorities of threads; elsewhere, and where it is not allowed, the priority
    // stays.
    #[cfg(target_os = "linux")]
    if let Ok(nice) = rustix::process::getpriority_process(None) {
        let _ = rustix::process::setpriority_process(None, nice + NICER);
    }
    let mut begun = clock.now();
    let between = move || {
        let took = clock.now().saturating_sub(begun);
        clock.pause((took * PAUSE).min(LONGEST), PauseReason::Rate, &signal);
        begun = clock.now();
    };
    with_yield_hook(between, work)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sotto_core::cooperative::yield_point;
    use std::sync::Mutex;

    /// A clock that advances with each reading, and the pauses that were made.
    #[derive(Default)]
    struct Ticking(Mutex<(Duration, Vec<Duration>)>);

    const TICK: Duration = Duration::from_micros(100);

    impl Clock for Ticking {
        fn now(&self) -> Duration {
            let mut state = self.0.lock().unwrap();
            state.0 += TICK;
            state.0
        }

        fn pause(&self, time: Duration, why: PauseReason, _: &PreparationSignal) {
            assert_eq!(why, PauseReason::Rate, "who is in a hurry ends it");
            self.0.lock().unwrap().1.push(time);
        }
    }

    #[test]
    fn pauses_are_as_long_as_pieces_were_but_for_long_ones() {
        let clock = Arc::new(Ticking::default());
        let work = clock.clone();
        at_low_priority(Arc::default(), clock.clone(), || {
            yield_point();
            yield_point();
            work.0.lock().unwrap().0 += Duration::from_secs(1);
            yield_point();
        });
        assert_eq!(clock.0.lock().unwrap().1, [TICK * PAUSE, TICK * PAUSE, LONGEST]);
    }
}

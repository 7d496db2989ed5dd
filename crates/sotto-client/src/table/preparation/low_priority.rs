//! A thread that takes a processor where no lookup wants it.

use super::rate_limit::{Clock, PauseReason, PreparationSignal};
use sotto_core::cooperative::with_yield_hook;
use std::sync::Arc;
use std::time::Duration;

/// By how much it is nicer than it was: a scheduler gives ten times as much to who is not.
#[cfg(target_os = "linux")]
const NICER: i32 = 10;
/// After each piece of work, a pause of so many times as long: together with the server's half, keys take less than the quarter
/// of their life that there is for the next ones, at 3 ms a lookup.
const PAUSE: u32 = 7;
/// The longest pause: more has gone by than a piece takes.
const LONGEST: Duration = Duration::from_millis(5);

/// Does `work` on this thread, which gives way to others from here on. Pieces of it come one at a time with pauses in between,
/// unless somebody is in a hurry: so lookups share one core with an eighth of it for a while, and not with all of it at once.
pub(super) fn at_low_priority<T>(
    signal: Arc<PreparationSignal>,
    clock: Arc<dyn Clock>,
    work: impl FnOnce() -> T,
) -> T {
    // Only Linux knows it of threads; elsewhere, and where it is not allowed, all goes on as it is.
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

    /// A time that goes on by itself with each look, and what it was paused for.
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

//! Pacing of a thread in the background: signals that stop or hurry it, its pauses, the rate at which
//! bytes arrive, and its priority.

use crate::transport::{Request, Response, Transport, TransportError};
use sotto_core::cooperative::with_yield_hook;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use web_time::Instant;

/// Increment of the thread's nice value: a scheduler gives ten times as much time to a thread
/// without it.
#[cfg(target_os = "linux")]
const NICER: i32 = 10;
/// Length of the pause after each piece of work, as a multiple of its duration. Together with the
/// server's half, new keys then take less than the quarter of the old keys' lifetime that is left
/// for them, at 3 ms a lookup.
const PAUSE_FACTOR: u32 = 7;
/// Maximum pause: if a piece takes longer, the thread was interrupted.
const LONGEST_YIELD: Duration = Duration::from_millis(5);

/// Signals to a thread that prepares a client.
#[derive(Default)]
pub(crate) struct PreparationSignal {
    state: Mutex<SignalState>,
    changed: Condvar,
}

#[derive(Default)]
pub(super) struct SignalState {
    /// The client is not needed now.
    pub(super) stop: bool,
    /// A caller waits for the client, and needs to know if it cannot be made.
    pub(super) wait: bool,
    /// A caller needs the client as soon as possible.
    pub(super) hurry: bool,
}

impl PreparationSignal {
    pub(super) fn state(&self) -> MutexGuard<'_, SignalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the plans of the thread, and ends the pauses that they end.
    pub(super) fn change(&self, change: impl FnOnce(&mut SignalState)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.state().stop
    }

    /// Pauses for `time`, unless a signal ends the pause.
    fn pause(&self, time: Duration, why: PauseReason) {
        let idle = |state: &mut SignalState| match why {
            PauseReason::Rate => !state.stop && !state.hurry,
            PauseReason::Failure => !state.stop && !state.wait,
        };
        let waited = self.changed.wait_timeout_while(self.state(), time, idle);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

/// The reason for a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PauseReason {
    /// Bytes arrived too fast. The pause ends if a caller is in a hurry.
    Rate,
    /// Something failed, and may succeed later. The pause ends if a caller waits, who is then
    /// informed.
    Failure,
}

/// A clock, which tests replace.
pub(crate) trait Clock: Send + Sync {
    /// The time since a fixed moment.
    fn now(&self) -> Duration;
    /// Pauses for `time`, or until a signal ends the pause.
    fn pause(&self, time: Duration, why: PauseReason, signal: &PreparationSignal);
}

/// The system's clock.
pub(crate) struct SystemClock(pub(crate) Instant);

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn pause(&self, time: Duration, why: PauseReason, signal: &PreparationSignal) {
        signal.pause(time, why);
    }
}

/// A transport with a limited rate, which stops once its bytes are no longer needed.
pub(super) struct RateLimitedTransport {
    inner: Box<dyn Transport>,
    limiter: RateLimiter,
}

impl RateLimitedTransport {
    /// Limits a transport to `rate` bytes per second; `None` for no limit.
    pub(super) fn new(
        inner: Box<dyn Transport>,
        rate: Option<u64>,
        signal: &Arc<PreparationSignal>,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        let (signal, clock) = (Arc::clone(signal), Arc::clone(clock));
        RateLimitedTransport { inner, limiter: RateLimiter { rate, signal, clock, next: Duration::ZERO } }
    }
}

/// Decides when how many bytes may arrive.
struct RateLimiter {
    /// Maximum rate in bytes per second; `None` for no limit.
    rate: Option<u64>,
    signal: Arc<PreparationSignal>,
    clock: Arc<dyn Clock>,
    /// Time from which on the next byte may arrive: idle time is not made up for.
    next: Duration,
}

impl RateLimiter {
    /// Waits until `bytes` more bytes may have arrived. Returns whether more are needed.
    fn admit(&mut self, bytes: usize) -> bool {
        if let Some(rate) = self.rate.filter(|_| !self.signal.state().hurry) {
            let now = self.clock.now();
            self.next = self.next.max(now) + Duration::from_secs_f64(bytes as f64 / rate.max(1) as f64);
            self.clock.pause(self.next.saturating_sub(now), PauseReason::Rate, &self.signal);
        }
        !self.signal.is_stopped()
    }
}

impl Transport for RateLimitedTransport {
    fn call(&mut self, request: &Request) -> Result<Response, TransportError> {
        let response = self.inner.call(request)?;
        self.limiter.admit(response.body.len());
        Ok(response)
    }

    fn call_in_pieces(
        &mut self,
        request: &Request,
        take: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Response, TransportError> {
        let RateLimitedTransport { inner, limiter } = self;
        inner.call_in_pieces(request, &mut |bytes| take(bytes) && limiter.admit(bytes.len()))
    }

    fn origin(&self) -> String {
        self.inner.origin()
    }

    fn retries(&self) -> u64 {
        self.inner.retries()
    }
}

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
        clock.pause((took * PAUSE_FACTOR).min(LONGEST_YIELD), PauseReason::Rate, &signal);
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
        assert_eq!(clock.0.lock().unwrap().1, [TICK * PAUSE_FACTOR, TICK * PAUSE_FACTOR, LONGEST_YIELD]);
    }
}

//! How fast rows come in the background, and how whoever fetches them hears that plans have changed.

use crate::transport::{Request, Response, Transport, TransportError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use web_time::Instant;

/// What a thread that prepares a client is told meanwhile.
#[derive(Default)]
pub(crate) struct PreparationSignal {
    wishes: Mutex<SignalState>,
    changed: Condvar,
}

#[derive(Default)]
struct SignalState {
    stop: bool,
    wait: bool,
    hurry: bool,
}

impl PreparationSignal {
    fn wishes(&self) -> MutexGuard<'_, SignalState> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody wants the client now.
    pub(crate) fn stop(&self) {
        self.wishes().stop = true;
        self.changed.notify_all();
    }

    /// Somebody waits for the client, and wants to hear if it cannot be made.
    pub(crate) fn wait_for(&self) {
        self.wishes().wait = true;
        self.changed.notify_all();
    }

    /// Somebody wants the client as soon as can be.
    pub(crate) fn hurry(&self) {
        self.wishes().hurry = true;
        self.changed.notify_all();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.wishes().stop
    }

    pub(crate) fn is_waited_for(&self) -> bool {
        self.wishes().wait
    }

    pub(crate) fn is_hurried(&self) -> bool {
        self.wishes().hurry
    }

    /// Pauses so long, unless there is a reason not to.
    fn pause(&self, time: Duration, why: PauseReason) {
        let idle = |wishes: &mut SignalState| match why {
            PauseReason::Rate => !wishes.stop && !wishes.hurry,
            PauseReason::Failure => !wishes.stop && !wishes.wait,
        };
        let waited = self.changed.wait_timeout_while(self.wishes(), time, idle);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

/// What a pause is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PauseReason {
    /// Bytes came too fast. Ends for whoever is in a hurry.
    Rate,
    /// Something failed, and may go better later. Ends for whoever waits, and will be told.
    Failure,
}

/// Time, so that tests can have their own.
pub(crate) trait Clock: Send + Sync {
    /// Since some moment that stays the same.
    fn now(&self) -> Duration;
    /// Pauses so long, or until a signal ends that.
    fn pause(&self, time: Duration, why: PauseReason, signal: &PreparationSignal);
}

/// The system's time.
pub(crate) struct SystemClock(pub(crate) Instant);

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn pause(&self, time: Duration, why: PauseReason, signal: &PreparationSignal) {
        signal.pause(time, why);
    }
}

/// How many bytes may come when.
pub(crate) struct RateLimiter {
    /// Bytes a second; `None` for as many as come.
    pub(crate) rate: Option<u64>,
    pub(crate) signal: Arc<PreparationSignal>,
    pub(crate) clock: Arc<dyn Clock>,
    /// When the next byte may come: time in which nothing came is not made up for.
    next: Duration,
}

impl RateLimiter {
    pub(crate) fn new(rate: Option<u64>, signal: Arc<PreparationSignal>, clock: Arc<dyn Clock>) -> Self {
        RateLimiter { rate, signal, clock, next: Duration::ZERO }
    }

    /// Waits until so many bytes may have come. Gives whether more are wanted.
    fn came(&mut self, bytes: usize) -> bool {
        if let Some(rate) = self.rate.filter(|_| !self.signal.is_hurried()) {
            let now = self.clock.now();
            self.next = self.next.max(now) + Duration::from_secs_f64(bytes as f64 / rate.max(1) as f64);
            self.clock.pause(self.next.saturating_sub(now), PauseReason::Rate, &self.signal);
        }
        !self.signal.is_stopped()
    }
}

/// A transport that brings no more bytes a second than it may, and none once nobody wants them.
pub(crate) struct RateLimitedTransport {
    pub(crate) inner: Box<dyn Transport>,
    pub(crate) pace: RateLimiter,
}

impl Transport for RateLimitedTransport {
    fn call(&mut self, request: &Request) -> Result<Response, TransportError> {
        let response = self.inner.call(request)?;
        self.pace.came(response.body.len());
        Ok(response)
    }

    fn call_in_pieces(
        &mut self,
        request: &Request,
        take: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Response, TransportError> {
        let RateLimitedTransport { inner, pace } = self;
        inner.call_in_pieces(request, &mut |bytes| take(bytes) && pace.came(bytes.len()))
    }

    fn origin(&self) -> String {
        self.inner.origin()
    }

    fn retries(&self) -> u64 {
        self.inner.retries()
    }
}

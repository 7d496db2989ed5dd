//! A transport that sends the same bytes again, a bounded number of times.
//!
//! A retry must not be a second query: two queries for one row under the same secret reveal more
//! than one. Here a request is only borrowed, so what is sent again cannot differ by a bit. It
//! happens below the session, before any byte of a response was interpreted: a server learns
//! nothing from it but that the first response was lost, which is known to whoever broke the
//! connection.

use super::{Request, Response, Transport, TransportError};
use crate::parallel::pause as wait;
use std::time::Duration;

/// How often to retry, and how long to pause in between.
#[derive(Debug, Clone, Copy)]
pub struct RetryPolicy {
    /// Maximum number of attempts over broken connections, at least 1.
    pub attempts: u32,
    /// First pause; it doubles each time.
    pub first_pause: Duration,
    /// Longest pause, unless a server asks for a longer one.
    pub longest_pause: Duration,
    /// Maximum total time for which one request waits for a busy server. If the server asks for
    /// more, the request fails.
    pub max_wait: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        RetryPolicy {
            attempts: 5,
            first_pause: Duration::from_millis(100),
            longest_pause: Duration::from_secs(10),
            max_wait: Duration::from_secs(120),
        }
    }
}

/// Length of a wait from which on it is reported.
pub(crate) const REPORT_AFTER: Duration = Duration::from_secs(1);

/// Callback that reports a busy server, with the maximum time of the wait.
type BusyCallback = Box<dyn FnMut(Duration) + Send>;

/// A transport that retries lost requests, and requests that a busy server refused.
pub struct RetryTransport<T> {
    inner: T,
    policy: RetryPolicy,
    on_busy: BusyCallback,
    retries: u64,
}

/// The attempts of one request.
#[derive(Default)]
struct RetryState {
    attempt: u32,
    /// Number of losses so far, and of pauses for a busy server.
    lost: u32,
    waited: Duration,
    is_reported: bool,
}

impl<T: Transport> RetryTransport<T> {
    /// Wraps `inner` with retries.
    pub fn new(inner: T, policy: RetryPolicy) -> Self {
        RetryTransport { inner, policy, on_busy: Box::new(|_| {}), retries: 0 }
    }

    /// Calls `on_busy` when a request has to wait for a busy server for more than a moment, once for
    /// each request.
    #[must_use]
    pub fn on_busy(mut self, on_busy: impl FnMut(Duration) + Send + 'static) -> Self {
        self.on_busy = Box::new(on_busy);
        self
    }

    /// Pauses before the next attempt. Returns whether there is to be one.
    fn pause_before_retry(
        &mut self,
        state: &mut RetryState,
        outcome: &Result<Response, TransportError>,
    ) -> bool {
        let RetryPolicy { attempts, first_pause, longest_pause, max_wait } = self.policy;
        let growing = first_pause.saturating_mul(1 << state.attempt.min(16)).min(longest_pause);
        let pause = match outcome {
            Err(error) if error.is_loss() => {
                state.lost += 1;
                if state.lost >= attempts {
                    return false;
                }
                jittered(growing)
            }
            Ok(response) if matches!(response.status, 429 | 503) => {
                let retry_after = response.retry_after.unwrap_or_default();
                state.waited = state.waited.saturating_add(retry_after).saturating_add(growing);
                if state.waited > max_wait {
                    return false;
                }
                if state.waited >= REPORT_AFTER && !std::mem::replace(&mut state.is_reported, true) {
                    (self.on_busy)(max_wait);
                }
                // Never earlier than the server asked for; later by a random share, so that refused
                // clients do not all return at once.
                retry_after + jittered(growing)
            }
            _ => return false,
        };
        wait(pause);
        self.retries += 1;
        state.attempt += 1;
        true
    }
}

impl<T: Transport> Transport for RetryTransport<T> {
    fn call(&mut self, request: &Request) -> Result<Response, TransportError> {
        let mut state = RetryState::default();
        loop {
            let outcome = self.inner.call(request);
            if !self.pause_before_retry(&mut state, &outcome) {
                return outcome;
            }
        }
    }

    /// Retries only as long as nothing has arrived: what follows a broken stream is another
    /// request.
    fn call_in_pieces(
        &mut self,
        request: &Request,
        take: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Response, TransportError> {
        let mut state = RetryState::default();
        loop {
            let mut begun = false;
            let outcome = self.inner.call_in_pieces(request, &mut |bytes| {
                begun = true;
                take(bytes)
            });
            if begun || !self.pause_before_retry(&mut state, &outcome) {
                return outcome;
            }
        }
    }

    fn origin(&self) -> String {
        self.inner.origin()
    }

    fn retries(&self) -> u64 {
        self.retries
    }
}

/// A random duration between half of `pause` and `pause`. Without entropy it is `pause`: spreading
/// clients is optional.
fn jittered(pause: Duration) -> Duration {
    let Ok(mut rng) = sotto_prg::system_rng() else { return pause };
    let mut word = [0; 4];
    rand_core::Rng::fill_bytes(&mut rng, &mut word);
    let share = f64::from(u32::from_le_bytes(word)) / f64::from(u32::MAX);
    pause.mul_f64(0.5 + share / 2.0)
}

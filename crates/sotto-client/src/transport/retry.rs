//! The same bytes again, a bounded number of times.
//!
//! A retry must not be a second query: two queries for one row under the same secret tell more than one.
//! Here a request is only borrowed, so what is sent again cannot differ by a bit. And it happens below the
//! session, before anything of a response was read: a server learns nothing from it but that the first
//! response was lost, which whoever cut the connection knew.

use super::{Request, Response, Transport, TransportError};
use std::time::Duration;

/// How often, and how long in between.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// Attempts in all, at least 1.
    pub attempts: u32,
    /// The first pause; it doubles each time.
    pub first_pause: Duration,
    /// The longest pause. A server that asks for more is not waited for.
    pub longest_pause: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            attempts: 5,
            first_pause: Duration::from_millis(100),
            longest_pause: Duration::from_secs(10),
        }
    }
}

/// Sends again what was lost, and what a busy server refused.
pub struct Retrying<T> {
    inner: T,
    policy: Policy,
    retries: u64,
}

impl<T: Transport> Retrying<T> {
    /// Retries over `inner`.
    pub fn new(inner: T, policy: Policy) -> Self {
        Retrying { inner, policy, retries: 0 }
    }

    /// The pause before the next attempt, or `None` if there is to be none.
    fn pause(&self, attempt: u32, outcome: &Result<Response, TransportError>) -> Option<Duration> {
        if attempt + 1 >= self.policy.attempts {
            return None;
        }
        let growing = self.policy.first_pause.saturating_mul(1 << attempt.min(16));
        match outcome {
            Err(error) if error.is_loss() => Some(jittered(growing.min(self.policy.longest_pause))),
            Ok(response) if matches!(response.status, 429 | 503) => {
                let asked = response.retry_after.unwrap_or_default();
                let fits = asked <= self.policy.longest_pause;
                // Never earlier than asked; later by a random share, or all refused clients come back at once.
                fits.then(|| asked + jittered(growing.min(self.policy.longest_pause)))
            }
            _ => None,
        }
    }
}

impl<T: Transport> Transport for Retrying<T> {
    fn call(&mut self, request: &Request) -> Result<Response, TransportError> {
        let mut attempt = 0;
        loop {
            let outcome = self.inner.call(request);
            let Some(pause) = self.pause(attempt, &outcome) else { return outcome };
            std::thread::sleep(pause);
            self.retries += 1;
            attempt += 1;
        }
    }

    /// Tries again only as long as nothing has come: what follows a broken stream is another request.
    fn call_in_pieces(
        &mut self,
        request: &Request,
        take: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Response, TransportError> {
        let mut attempt = 0;
        loop {
            let mut begun = false;
            let outcome = self.inner.call_in_pieces(request, &mut |bytes| {
                begun = true;
                take(bytes)
            });
            let pause = self.pause(attempt, &outcome).filter(|_| !begun);
            let Some(pause) = pause else { return outcome };
            std::thread::sleep(pause);
            self.retries += 1;
            attempt += 1;
        }
    }

    fn origin(&self) -> String {
        self.inner.origin()
    }

    fn retries(&self) -> u64 {
        self.retries
    }
}

/// Between half of `pause` and all of it. Without entropy all of it: spreading is a courtesy, not a need.
fn jittered(pause: Duration) -> Duration {
    let Ok(mut rng) = sotto_prg::system_rng() else { return pause };
    let mut word = [0; 4];
    rand_core::Rng::fill_bytes(&mut rng, &mut word);
    let share = f64::from(u32::from_le_bytes(word)) / f64::from(u32::MAX);
    pause.mul_f64(0.5 + share / 2.0)
}

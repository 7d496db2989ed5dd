//! The server's time in a `Server-Timing` header (W3C), so that a client can separate the network's
//! share of a round trip from the server's.
//!
//! The value has one length for all query requests: the size of a response must not depend on what
//! was requested.

use std::time::Duration;

/// Time that a query request spent at the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timing {
    /// Time in the queue, until the previous pass ended and other requests could join.
    pub queue: Duration,
    /// Time of the pass over the table that answered the request, which other requests may have
    /// shared.
    pub pass: Duration,
}

/// Longest time that the fixed width can represent, in microseconds.
const MAX_US: u64 = 9_999_999_999;

impl Timing {
    /// Value of the header: milliseconds with three decimals, zero padded.
    pub fn to_header(&self) -> String {
        let [(queue_ms, queue_us), (pass_ms, pass_us)] = [self.queue, self.pass].map(|time| {
            let us = u64::try_from(time.as_micros()).unwrap_or(MAX_US).min(MAX_US);
            (us / 1000, us % 1000)
        });
        format!("queue;dur={queue_ms:07}.{queue_us:03}, pass;dur={pass_ms:07}.{pass_us:03}")
    }

    /// Parses a header's value; `None` if it has another form.
    pub fn parse(value: &str) -> Option<Self> {
        let (queue, pass) = value.split_once(", ")?;
        Some(Timing {
            queue: duration(queue.strip_prefix("queue;dur=")?)?,
            pass: duration(pass.strip_prefix("pass;dur=")?)?,
        })
    }
}

fn duration(text: &str) -> Option<Duration> {
    let (ms, us) = text.split_once('.')?;
    let digits = |s: &str, len| s.len() == len && s.bytes().all(|b| b.is_ascii_digit());
    if !digits(ms, 7) || !digits(us, 3) {
        return None;
    }
    Some(Duration::from_micros(ms.parse::<u64>().ok()? * 1000 + us.parse::<u64>().ok()?))
}

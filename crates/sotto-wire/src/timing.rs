//! How long the server took, in a `Server-Timing` header (W3C), so that a client can tell the network's
//! share of a round trip from the server's.
//!
//! The value has one length for every ask: a response must not differ in size by what was asked.

use std::time::Duration;

/// Where an ask's time at the server went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timing {
    /// Waiting for the previous pass, and for company.
    pub queue: Duration,
    /// The pass over the table that answered it, shared with other asks perhaps.
    pub pass: Duration,
}

/// Longest time the fixed width holds, in microseconds.
const MAX_US: u64 = 9_999_999_999;

impl Timing {
    /// The header's value, milliseconds with three decimals, zero padded.
    pub fn to_header(&self) -> String {
        let [(queue_ms, queue_us), (pass_ms, pass_us)] = [self.queue, self.pass].map(|time| {
            let us = u64::try_from(time.as_micros()).unwrap_or(MAX_US).min(MAX_US);
            (us / 1000, us % 1000)
        });
        format!("queue;dur={queue_ms:07}.{queue_us:03}, pass;dur={pass_ms:07}.{pass_us:03}")
    }

    /// Reads a header; `None` if it is not one of ours.
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

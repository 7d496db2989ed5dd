//! Request bodies, bounded before they are read.
//!
//! A body that announces more than the longest valid one is refused unread. Otherwise its fixed head is
//! read and judged first, and only then the payload, which must be exactly as long as the head says. So
//! the memory a stranger can make the server hold is the size of one valid request.

use crate::refusal::Refusal;
use axum::body::Body;
use axum::http::{HeaderMap, header};
use http_body_util::BodyExt;
use sotto_wire::{Code, FrameError};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How long the rest of a refused body is read.
const DRAIN: Duration = Duration::from_secs(1);

/// A body being read.
pub(crate) struct Reader {
    body: Body,
    read: Vec<u8>,
    limit: u64,
    announced: Option<u64>,
    until: Instant,
}

impl Reader {
    /// Starts reading a body of at most `limit` bytes, which must be there within `time`.
    ///
    /// # Errors
    /// [`Code::TooLarge`] if the body announces more.
    pub(crate) fn new(body: Body, headers: &HeaderMap, limit: u64, time: Duration) -> Result<Self, Refusal> {
        let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        let announced = length.and_then(|value| value.parse::<u64>().ok());
        if announced.is_some_and(|bytes| bytes > limit) {
            return Err(too_large(limit));
        }
        Ok(Reader { body, read: Vec::new(), limit, announced, until: Instant::now() + time })
    }

    /// The most bytes the body can have.
    pub(crate) fn most(&self) -> u64 {
        self.announced.unwrap_or(self.limit)
    }

    /// Reads until at least `bytes` are there, and gives all that are.
    ///
    /// # Errors
    /// [`Code::TooLarge`], [`Code::TooSlow`], [`Code::Malformed`] if the body ends before.
    pub(crate) async fn head(&mut self, bytes: usize) -> Result<&[u8], Refusal> {
        while self.read.len() < bytes {
            if !self.more().await? {
                return Err(FrameError::Short.into());
            }
        }
        Ok(&self.read)
    }

    /// Reads the rest of a body that must have exactly `bytes` bytes.
    ///
    /// # Errors
    /// [`Code::Malformed`] for any other length; as [`Reader::head`].
    pub(crate) async fn exactly(&mut self, bytes: u64) -> Result<Vec<u8>, Refusal> {
        let wrong = |got| Err(FrameError::Length { got, want: bytes }.into());
        if let Some(announced) = self.announced.filter(|announced| *announced != bytes) {
            return wrong(announced);
        }
        let room = bytes.saturating_sub(self.read.len() as u64);
        self.read.reserve_exact(usize::try_from(room).unwrap_or(0));
        while self.read.len() as u64 <= bytes {
            if !self.more().await? {
                break;
            }
        }
        if self.read.len() as u64 != bytes {
            return wrong(self.read.len() as u64);
        }
        Ok(std::mem::take(&mut self.read))
    }

    /// Reads all of it.
    ///
    /// # Errors
    /// As [`Reader::head`].
    pub(crate) async fn whole(&mut self) -> Result<Vec<u8>, Refusal> {
        while self.more().await? {}
        Ok(std::mem::take(&mut self.read))
    }

    /// Ends reading. Where it was refused, what is left is read and forgotten, so that a client which is still sending
    /// gets to read its refusal: closing on unread bytes resets the connection. Bounded like any body, and not for long: a
    /// client that has stopped sending is waiting for the refusal.
    ///
    /// # Errors
    /// Those of `read`.
    pub(crate) async fn end<T>(mut self, read: Result<T, Refusal>) -> Result<T, Refusal> {
        if read.is_err() {
            self.drain().await;
        }
        read
    }

    async fn drain(&mut self) {
        self.until = self.until.min(Instant::now() + DRAIN);
        loop {
            self.limit = self.limit.saturating_sub(self.read.len() as u64);
            self.read.clear();
            if !matches!(self.more().await, Ok(true)) {
                return;
            }
        }
    }

    /// Reads a little more; `false` at the end.
    async fn more(&mut self) -> Result<bool, Refusal> {
        let frame = timeout_at(self.until, self.body.frame()).await;
        let frame = frame.map_err(|_| Refusal::new(Code::TooSlow, "the body did not arrive in time"))?;
        let Some(frame) = frame else { return Ok(false) };
        let frame = frame.map_err(|_| Refusal::new(Code::Malformed, "the body broke off"))?;
        if let Ok(data) = frame.into_data() {
            if (self.read.len() + data.len()) as u64 > self.limit {
                return Err(too_large(self.limit));
            }
            self.read.extend_from_slice(&data);
        }
        Ok(true)
    }
}

fn too_large(limit: u64) -> Refusal {
    sotto_wire::Problem::new(Code::TooLarge, format!("no valid body has more than {limit} bytes")).into()
}

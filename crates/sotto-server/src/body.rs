//! Request bodies, bounded before they are read.
//!
//! A body that announces more bytes than the longest valid one is refused unread. Otherwise its
//! fixed head is read and checked first, and only then the payload, which must be exactly as long
//! as the head says. Memory is taken for the bytes received so far, and at most for as many again:
//! an announced length takes none. So a client can make the server hold no more than what it has
//! sent.

use crate::http_error::HttpError;
use crate::limits::slots::Permit;
use axum::body::Body;
use axum::http::{HeaderMap, header};
use http_body_util::BodyExt;
use sotto_wire::{FrameError, ProblemCode};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Maximum time for which the rest of a refused body is read.
const DRAIN: Duration = Duration::from_secs(1);

/// A body that is being read.
pub struct BodyReader {
    body: Body,
    read: Vec<u8>,
    /// Memory of `read`.
    memory: Permit,
    limit: u64,
    announced: Option<u64>,
    until: Instant,
}

impl BodyReader {
    /// Starts to read a body of at most `limit` bytes, which must arrive within `time`, into memory
    /// that `memory` grows to.
    ///
    /// # Errors
    /// [`ProblemCode::TooLarge`] if the body announces more.
    pub(crate) fn new(
        body: Body,
        headers: &HeaderMap,
        limit: u64,
        time: Duration,
        memory: Permit,
    ) -> Result<Self, HttpError> {
        let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        let announced = length.and_then(|value| value.parse::<u64>().ok());
        if announced.is_some_and(|bytes| bytes > limit) {
            return Err(too_large(limit));
        }
        Ok(BodyReader { body, read: Vec::new(), memory, limit, announced, until: Instant::now() + time })
    }

    /// Reads until at least `bytes` bytes have arrived, and returns all that have.
    ///
    /// # Errors
    /// [`ProblemCode::TooLarge`], [`ProblemCode::TooSlow`], [`ProblemCode::Malformed`] if the body ends before.
    pub(crate) async fn head(&mut self, bytes: usize) -> Result<&[u8], HttpError> {
        while self.read.len() < bytes {
            if !self.more(self.limit).await? {
                return Err(FrameError::Short.into());
            }
        }
        Ok(&self.read)
    }

    /// Reads the rest of a body of exactly `bytes` bytes. Returns the body and its memory permit.
    ///
    /// # Errors
    /// [`ProblemCode::Malformed`] for any other length; otherwise as for [`BodyReader::head`].
    pub(crate) async fn exactly(&mut self, bytes: u64) -> Result<(Vec<u8>, Permit), HttpError> {
        let wrong = |got| Err(FrameError::Length { got, want: bytes }.into());
        if let Some(announced) = self.announced.filter(|announced| *announced != bytes) {
            return wrong(announced);
        }
        while self.read.len() as u64 <= bytes {
            if !self.more(bytes).await? {
                break;
            }
        }
        if self.read.len() as u64 != bytes {
            return wrong(self.read.len() as u64);
        }
        Ok(self.taken())
    }

    /// Reads the whole body. Returns it with its memory permit.
    ///
    /// # Errors
    /// [`ProblemCode::TooLarge`], [`ProblemCode::TooSlow`], [`ProblemCode::Malformed`] if the body breaks off.
    pub async fn whole(&mut self) -> Result<(Vec<u8>, Permit), HttpError> {
        let expected = self.announced.unwrap_or(self.limit);
        while self.more(expected).await? {}
        Ok(self.taken())
    }

    fn taken(&mut self) -> (Vec<u8>, Permit) {
        (std::mem::take(&mut self.read), self.memory.split())
    }

    /// Ends the reading. After a refusal, the rest of the body is read and dropped, so that a
    /// client that is still sending gets to read the refusal: closing on unread bytes resets the
    /// connection. The rest is bounded like any body, and in time: a client that has stopped
    /// sending waits for the refusal.
    ///
    /// # Errors
    /// The errors of `read`.
    pub async fn end<T>(mut self, read: Result<T, HttpError>) -> Result<T, HttpError> {
        if read.is_err() {
            self.drain().await;
        }
        read
    }

    async fn drain(&mut self) {
        let until = self.until.min(Instant::now() + DRAIN);
        let mut left = self.limit.saturating_sub(self.read.len() as u64);
        // The bytes that were read are dropped, and their memory is released.
        drop(self.taken());
        while let Ok(Some(Ok(frame))) = timeout_at(until, self.body.frame()).await {
            let bytes = frame.data_ref().map_or(0, |data| data.len() as u64);
            match left.checked_sub(bytes) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    }

    /// Reads a little more of a body of about `expected` bytes. Returns `false` at the end of the body.
    async fn more(&mut self, expected: u64) -> Result<bool, HttpError> {
        let frame = timeout_at(self.until, self.body.frame()).await;
        let frame =
            frame.map_err(|_| HttpError::new(ProblemCode::TooSlow, "the body did not arrive in time"))?;
        let Some(frame) = frame else { return Ok(false) };
        let frame = frame.map_err(|_| HttpError::new(ProblemCode::Malformed, "the body ended early"))?;
        if let Ok(data) = frame.into_data() {
            if (self.read.len() + data.len()) as u64 > self.limit {
                return Err(too_large(self.limit));
            }
            self.reserve(data.len(), expected)?;
            self.read.extend_from_slice(&data);
        }
        Ok(true)
    }

    /// Takes memory for `more` bytes. It doubles up to that for `expected` bytes, so that
    /// few bytes are copied again.
    fn reserve(&mut self, more: usize, expected: u64) -> Result<(), HttpError> {
        let (len, capacity) = (self.read.len(), self.read.capacity());
        let need = len + more;
        if need <= capacity {
            return Ok(());
        }
        let expected = usize::try_from(expected).unwrap_or(usize::MAX);
        let reserved = need.max(capacity.saturating_mul(2).min(expected));
        self.memory.grow((reserved - capacity) as u64)?;
        self.read.reserve_exact(reserved - len);
        Ok(())
    }
}

fn too_large(limit: u64) -> HttpError {
    sotto_wire::Problem::new(ProblemCode::TooLarge, format!("expected a body of at most {limit} bytes"))
        .into()
}

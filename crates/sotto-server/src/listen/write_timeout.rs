//! Closes the connection to a peer that does not read.
//!
//! hyper has no timeout for a response that is being sent: a client that sent a request and then
//! reads nothing would keep a connection, and the bytes that wait for it, for ever. So would one
//! that reads a byte now and then, so the deadline moves with the bytes that are read. This wraps
//! the stream below TLS, since TLS accepts some bytes whether or not they are sent.

use crate::config::SendRate;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// A stream whose writes fail once they have waited for too long, given the bytes that were
/// written.
pub(super) struct WriteTimeout<S> {
    stream: S,
    time: SendTime,
    /// Start and timer of a waiting write.
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl<S> WriteTimeout<S> {
    pub(super) fn new(stream: S, rate: SendRate) -> Self {
        WriteTimeout { stream, time: SendTime::new(rate), waiting: None }
    }

    fn judge(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(done) = &written {
            let waited = self.waiting.take().map(|(since, _)| since.elapsed()).unwrap_or_default();
            self.time.taken(done.as_ref().map_or(0, |bytes| *bytes), waited);
            return written;
        }
        let limit = self.time.limit(0);
        let begin = || (Instant::now(), Box::pin(tokio::time::sleep(limit)));
        let (_, waiting) = self.waiting.get_or_insert_with(begin);
        waiting.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.judge(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.judge(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

/// The time that a peer has left. It grows with the bytes that the peer reads, and never beyond the
/// fixed time: a peer that reads fast at first cannot pause for long later.
#[derive(Debug)]
pub(super) struct SendTime {
    rate: SendRate,
    left: Duration,
}

impl SendTime {
    pub(super) fn new(rate: SendRate) -> Self {
        SendTime { rate, left: rate.grace }
    }

    /// Maximum time until the last of `bytes` bytes is read.
    pub(super) fn limit(&self, bytes: usize) -> Duration {
        self.left.saturating_add(self.of(bytes))
    }

    /// Records that `bytes` bytes were read after `waited`.
    pub(super) fn taken(&mut self, bytes: usize, waited: Duration) {
        self.left = self.limit(bytes).saturating_sub(waited).min(self.rate.grace);
    }

    fn of(&self, bytes: usize) -> Duration {
        let millis = (bytes as u64).saturating_mul(1000) / self.rate.bytes_per_second.max(1);
        Duration::from_millis(millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trickle_runs_out_of_time_and_a_slow_reader_does_not() {
        let second = Duration::from_secs(1);
        let rate = SendRate { grace: 60 * second, bytes_per_second: 1000 };
        let mut trickle = SendTime::new(rate);
        assert_eq!(trickle.limit(5000), 65 * second);
        for _ in 0..2 {
            trickle.taken(1, 29 * second);
        }
        assert!(trickle.limit(1) < 3 * second, "a byte now and then is not reading");
        let mut slow = SendTime::new(rate);
        for _ in 0..1000 {
            slow.taken(1000, second);
        }
        assert_eq!(slow.limit(0), 60 * second);
        slow.taken(1 << 30, second);
        assert_eq!(slow.limit(0), 60 * second, "what was read fast is no time to stop in");
    }
}

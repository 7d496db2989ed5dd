//! The body of every response, and the deadline of one that is not read.
//!
//! A body owns the memory of its bytes until the last of them is handed to the socket: each part
//! that it hands over has a share of the permit, while it is in HTTP's buffers. It hands over one
//! part at a time, and ends only when the last was sent; so a stream of HTTP/2 is open for as long
//! as anything of it is in memory. A part is short ([`MAX_PART_BYTES`]), so the time for which
//! nothing may be read does not grow with the response. hyper has no timeout for a stream whose
//! window is closed: [`StreamExecutor`] drops its task once the current part is late, which resets
//! the stream and frees its buffers. If the socket itself is not read, `write_timeout` ends the
//! connection.

use super::connections::RequestGuard;
use super::write_timeout::SendTime;
use crate::config::SendRate;
use crate::limits::slots::{BodyMemory, Permit};
use crate::locked;
use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use hyper::rt::Executor;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker, ready};
use tokio::time::{Instant, Sleep, sleep_until};

/// Maximum bytes of a part. At the slowest rate, a client has the time that these bytes take.
const MAX_PART_BYTES: usize = 1 << 16;

/// The body of a response that is being sent.
pub(super) struct ResponseBody {
    body: Body,
    /// Bytes that the inner body has produced and that were not handed over yet.
    rest: Bytes,
    guard: Arc<ResponseGuard>,
    time: SendTime,
    /// Part that was handed over last.
    part: Option<PendingPart>,
    deadline: Option<Arc<StreamDeadline>>,
}

/// Everything that a response holds until it is sent, released on drop.
struct ResponseGuard {
    _memory: Option<Arc<Permit>>,
    /// Marks the connection as busy.
    _busy: RequestGuard,
}

/// A part of a body, in the buffers of HTTP.
struct BodyPart {
    bytes: Bytes,
    dropped: Arc<DropSignal>,
    _guard: Arc<ResponseGuard>,
}

/// The part of a body that was handed over and is not sent yet.
struct PendingPart {
    dropped: Arc<DropSignal>,
    bytes: usize,
    since: Instant,
}

/// Wakes a waiting task when a part is dropped, sent or unsent.
#[derive(Default)]
struct DropSignal(Mutex<(bool, Option<Waker>)>);

impl ResponseBody {
    /// The body of a response that is about to be sent by the calling task.
    pub(super) fn new(body: Body, memory: Option<BodyMemory>, busy: RequestGuard, rate: SendRate) -> Self {
        let memory = match memory {
            Some(BodyMemory::Taken(permit)) => Some(permit),
            Some(BodyMemory::Shared) | None => None,
        };
        let guard = Arc::new(ResponseGuard { _memory: memory, _busy: busy });
        let deadline = DEADLINE.try_with(Arc::clone).ok();
        ResponseBody { body, rest: Bytes::new(), guard, time: SendTime::new(rate), part: None, deadline }
    }

    fn set_deadline(&self, at: Option<Instant>) {
        if let Some(deadline) = &self.deadline {
            *locked(&deadline.0) = at;
        }
    }

    /// Hands over a part of the rest, and starts its deadline.
    fn hand_over(&mut self) -> Bytes {
        let bytes = self.rest.split_to(self.rest.len().min(MAX_PART_BYTES));
        let (dropped, since) = (Arc::<DropSignal>::default(), Instant::now());
        self.set_deadline(since.checked_add(self.time.limit(bytes.len())));
        self.part = Some(PendingPart { dropped: dropped.clone(), bytes: bytes.len(), since });
        Bytes::from_owner(BodyPart { bytes, dropped, _guard: self.guard.clone() })
    }
}

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Some(part) = &self.part {
            ready!(part.dropped.poll(context));
            let (bytes, waited) = (part.bytes, part.since.elapsed());
            self.time.taken(bytes, waited);
            self.part = None;
            self.set_deadline(None);
        }
        while self.rest.is_empty() {
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                other => return Poll::Ready(other),
            };
            match frame.into_data() {
                Ok(bytes) => self.rest = bytes,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
        Poll::Ready(Some(Ok(Frame::data(self.hand_over()))))
    }

    fn is_end_stream(&self) -> bool {
        self.part.is_none() && self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (body, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(body.lower().saturating_add(rest));
        if let Some(upper) = body.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        self.set_deadline(None);
    }
}

impl AsRef<[u8]> for BodyPart {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for BodyPart {
    fn drop(&mut self) {
        let mut dropped = locked(&self.dropped.0);
        dropped.0 = true;
        let waker = dropped.1.take();
        drop(dropped);
        waker.into_iter().for_each(Waker::wake);
    }
}

impl DropSignal {
    fn poll(&self, context: &Context<'_>) -> Poll<()> {
        let mut dropped = locked(&self.0);
        if dropped.0 {
            return Poll::Ready(());
        }
        dropped.1 = Some(context.waker().clone());
        Poll::Pending
    }
}

tokio::task_local! {
    /// Deadline of the current part, for the HTTP/2 stream that this task carries.
    static DEADLINE: Arc<StreamDeadline>;
}

#[derive(Default)]
struct StreamDeadline(Mutex<Option<Instant>>);

/// Runs the streams of an HTTP/2 connection, each in a task of its own that ends when its response
/// is late.
#[derive(Clone)]
pub(super) struct StreamExecutor;

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for StreamExecutor {
    fn execute(&self, stream: F) {
        tokio::spawn(TimedStream { stream: Box::pin(stream), deadline: Arc::default(), sleep: None });
    }
}

/// A stream and its deadline.
struct TimedStream<F> {
    stream: Pin<Box<F>>,
    deadline: Arc<StreamDeadline>,
    /// Timer that runs while a part waits.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl<F: Future<Output = ()>> Future for TimedStream<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let TimedStream { stream, deadline, sleep } = &mut *self;
        if DEADLINE.sync_scope(deadline.clone(), || stream.as_mut().poll(context)).is_ready() {
            return Poll::Ready(());
        }
        let Some(at) = *locked(&deadline.0) else { return Poll::Pending };
        let sleep = sleep.get_or_insert_with(|| Box::pin(sleep_until(at)));
        if sleep.deadline() != at {
            sleep.as_mut().reset(at);
        }
        ready!(sleep.as_mut().poll(context));
        tracing::debug!("a response was not read in time and is dropped");
        Poll::Ready(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::connections::Connections;
    use super::*;
    use crate::client::Peer;
    use http_body::Body as _;
    use std::time::Duration;

    /// The time for which nothing may be read is that of a part, however long the response is.
    #[test]
    fn the_deadline_of_a_closed_window_does_not_grow_with_the_response() {
        let state =
            Connections::new(1, 1, &[], None).enter(Peer([127, 0, 0, 1].into())).unwrap().state.clone();
        let rate = SendRate { grace: Duration::from_secs(8), bytes_per_second: 1 << 14 };
        let whole: Bytes = (0..5 * MAX_PART_BYTES / 2).map(|at| (at % 251) as u8).collect();
        let deadline = Arc::<StreamDeadline>::default();
        let body = Body::from(whole.clone());
        let make = || ResponseBody::new(body, None, state.busy(), rate);
        let mut body = DEADLINE.sync_scope(deadline.clone(), make);
        let mut context = Context::from_waker(Waker::noop());
        let (mut sent, mut parts) = (Vec::new(), 0);
        loop {
            assert_eq!(body.size_hint().exact(), Some((whole.len() - sent.len()) as u64));
            let part = match Pin::new(&mut body).poll_frame(&mut context) {
                Poll::Ready(None) => break,
                other => other.map(|frame| frame.unwrap().unwrap().into_data().unwrap()),
            };
            let Poll::Ready(part) = part else { panic!("nothing is in the way of a part") };
            let latest = Instant::now() + rate.grace + Duration::from_secs((MAX_PART_BYTES >> 14) as u64);
            assert!(locked(&deadline.0).is_some_and(|at| at <= latest), "one part's time");
            let waits = Pin::new(&mut body).poll_frame(&mut context).is_pending();
            assert!(waits && !body.is_end_stream(), "one part at a time");
            sent.extend_from_slice(&part);
            parts += 1;
        }
        assert!(sent == whole && parts == 3 && locked(&deadline.0).is_none());
    }
}

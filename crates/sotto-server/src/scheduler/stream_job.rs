//! A stream on its way: first its query is prepared, then one unit is made at a time, as fast as the client
//! reads and no faster.

use super::queue::Queue;
use crate::TableEpoch;
use crate::concurrency::Permit;
use crate::memory::MemoryPermit;
use crate::sessions::Peer;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use sotto_core::{AnyExpandedQuery, AnySession};
use sotto_wire::{Code, stream};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// Units that are made before the client has read the one before them: enough that neither end waits for
/// the other's every step.
const AHEAD: usize = 2;

/// Units of a stream that are in memory at once: those, one that is made, and one that is sent.
const UNITS_HELD: u64 = AHEAD as u64 + 2;

/// A checked request for a record in units.
pub(crate) struct StreamJob {
    pub(crate) live: Arc<TableEpoch>,
    pub(crate) session: Arc<AnySession>,
    pub(crate) head: stream::StreamHead,
    pub(crate) frame: Vec<u8>,
    /// Whose it is.
    pub(crate) peer: Peer,
    /// The memory the frame takes; given back with it, once the query is prepared.
    pub(crate) room: MemoryPermit,
    /// The memory that units take on their way.
    pub(crate) units_room: MemoryPermit,
    /// A place among the streams that may be open.
    pub(crate) open: Permit,
}

/// A stream in the queue.
pub(super) struct QueuedStream {
    pub(super) live: Arc<TableEpoch>,
    pub(super) session: Arc<AnySession>,
    pub(super) head: stream::StreamHead,
    pub(super) stage: StreamStage,
    pub(super) peer: Peer,
    /// When it last got anywhere.
    pub(super) since: Instant,
    queue: Arc<Queue>,
    _open: Permit,
}

pub(super) enum StreamStage {
    /// Its query waits.
    Queued { frame: Vec<u8>, _room: MemoryPermit, units_room: MemoryPermit, reply: oneshot::Sender<Started> },
    /// Its units are made.
    Running { prepared: AnyExpandedQuery, next: u64, out: mpsc::Sender<Bytes> },
}

/// The units of a stream and the memory that they take, or why there are none.
pub(crate) type Started = Result<(UnitBody, MemoryPermit), Code>;

/// What a stream in the queue can do.
pub(super) enum StreamReadiness {
    /// Something.
    Yes,
    /// Nothing, until its client has read.
    Later,
    /// Nothing any more: its client is gone, or has not read for too long, or its epoch is not served any more, since as long.
    Never,
}

impl StreamJob {
    /// Bytes of memory that units of so many bytes take on their way.
    pub(crate) fn units_held(each: u64) -> u64 {
        each.saturating_mul(UNITS_HELD)
    }
}

impl QueuedStream {
    pub(super) fn new(ask: StreamJob, queue: Arc<Queue>, now: Instant) -> (Self, oneshot::Receiver<Started>) {
        let StreamJob { live, session, head, frame, peer, room, units_room, open } = ask;
        let (reply, receiver) = oneshot::channel();
        let stage = StreamStage::Queued { frame, _room: room, units_room, reply };
        (QueuedStream { live, session, head, stage, peer, since: now, queue, _open: open }, receiver)
    }

    pub(super) fn ready(&self, now: Instant, stall: Duration) -> StreamReadiness {
        match &self.stage {
            StreamStage::Queued { reply, .. } if reply.is_closed() => StreamReadiness::Never,
            StreamStage::Queued { .. } => StreamReadiness::Yes,
            StreamStage::Running { out, .. } if out.is_closed() => StreamReadiness::Never,
            StreamStage::Running { .. } if self.live.retired().is_over(now, stall) => StreamReadiness::Never,
            StreamStage::Running { out, .. } if out.capacity() > 0 => StreamReadiness::Yes,
            StreamStage::Running { .. } if now.saturating_duration_since(self.since) > stall => {
                StreamReadiness::Never
            }
            StreamStage::Running { .. } => StreamReadiness::Later,
        }
    }

    /// Whether its units are made already.
    pub(super) fn has_begun(&self) -> bool {
        matches!(self.stage, StreamStage::Running { .. })
    }

    /// Goes on to the units, and tells the client that they come. `None` if it is gone.
    pub(super) fn start(mut self, prepared: AnyExpandedQuery, each: u64) -> Option<Self> {
        let (out, units) = mpsc::channel(AHEAD);
        let running = StreamStage::Running { prepared, next: self.head.first, out };
        let queued = std::mem::replace(&mut self.stage, running);
        let StreamStage::Queued { reply, units_room, .. } = queued else { return None };
        let head = Some(Bytes::from(stream::answer_head(&self.head.pin)));
        let body = UnitBody { head, units, left: self.head.units, each, queue: self.queue.clone() };
        reply.send(Ok((body, units_room))).ok()?;
        self.since = Instant::now();
        Some(self)
    }

    /// Ends a stream whose units do not come yet.
    pub(super) fn refuse(self, code: Code) {
        if let StreamStage::Queued { reply, .. } = self.stage {
            // A send fails only if the client is gone, which is no loss.
            let _ = reply.send(Err(code));
        }
    }
}

/// The body of a response: its head, and the units as they come.
pub(crate) struct UnitBody {
    head: Option<Bytes>,
    units: mpsc::Receiver<Bytes>,
    left: u64,
    each: u64,
    queue: Arc<Queue>,
}

impl http_body::Body for UnitBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if let Some(head) = self.head.take() {
            return Poll::Ready(Some(Ok(Frame::data(head))));
        }
        if self.left == 0 {
            return Poll::Ready(None);
        }
        match self.units.poll_recv(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Some(unit)) => {
                self.left -= 1;
                self.queue.wake();
                Poll::Ready(Some(Ok(Frame::data(unit))))
            }
            // Cuts the connection, so that the client does not take what it has for all there is.
            Poll::Ready(None) => Poll::Ready(Some(Err(io::Error::other("the stream was given up")))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.head.is_none() && self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        let head = self.head.as_ref().map_or(0, |head| head.len() as u64);
        SizeHint::with_exact(head.saturating_add(self.left.saturating_mul(self.each)))
    }
}

impl Drop for UnitBody {
    /// A client that hangs up frees its place at once.
    fn drop(&mut self) {
        self.units.close();
        self.queue.wake();
    }
}

//! A stream in progress: first its query is expanded, then one unit is made at a time, as fast as
//! the client reads and no faster.

use crate::TableEpoch;
use crate::client::Peer;
use crate::limits::slots::Permit;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use sotto_core::{AnyExpandedQuery, AnySession};
use sotto_wire::{ProblemCode, stream};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// Number of units that are made before the client has read the previous ones: enough that neither
/// end waits for every step of the other.
const AHEAD: usize = 2;

/// Number of units of a stream in memory at once: those made ahead, one being made, and one being
/// sent.
const UNITS_HELD: u64 = AHEAD as u64 + 2;

/// A checked request for a record in units.
pub(crate) struct StreamJob {
    pub(crate) live: Arc<TableEpoch>,
    pub(crate) session: Arc<AnySession>,
    pub(crate) head: stream::StreamHead,
    pub(crate) frame: Vec<u8>,
    /// Address of the client.
    pub(crate) peer: Peer,
    /// Memory of the frame, released with it once the query is expanded.
    pub(crate) frame_memory: Permit,
    /// Memory of the units that are in memory at once.
    pub(crate) units_memory: Permit,
    /// Permit among the open streams.
    pub(crate) open: Permit,
}

/// Wakes the worker to check the streams.
type Wake = Arc<dyn Fn() + Send + Sync>;

/// A stream in the queue.
pub(super) struct QueuedStream {
    pub(super) live: Arc<TableEpoch>,
    pub(super) session: Arc<AnySession>,
    pub(super) head: stream::StreamHead,
    pub(super) stage: StreamStage,
    pub(super) peer: Peer,
    /// Time when the stream last advanced.
    pub(super) since: Instant,
    wake: Wake,
    _open: Permit,
}

pub(super) enum StreamStage {
    /// The stream's query waits to be expanded.
    Queued { frame: Vec<u8>, _frame_memory: Permit, units_memory: Permit, reply: oneshot::Sender<Started> },
    /// The stream's units are being made.
    Running { prepared: AnyExpandedQuery, next: u64, out: mpsc::Sender<Bytes> },
}

/// The units of a stream with their memory permit, or the reason why there are none.
pub(crate) type Started = Result<(UnitBody, Permit), ProblemCode>;

/// Whether a stream in the queue can make a step.
pub(super) enum StreamReadiness {
    /// The stream can make a step.
    Yes,
    /// The stream can make no step until its client has read.
    Deferred,
    /// The stream can make no more steps: its client is gone, or has not read for too long, or its
    /// epoch has not been served for that time.
    Never,
}

impl StreamJob {
    /// Bytes of memory for the units of a stream, if a unit has `each` bytes.
    pub(crate) fn units_held(each: u64) -> u64 {
        each.saturating_mul(UNITS_HELD)
    }
}

impl QueuedStream {
    pub(super) fn new(job: StreamJob, wake: Wake, now: Instant) -> (Self, oneshot::Receiver<Started>) {
        let StreamJob { live, session, head, frame, peer, frame_memory, units_memory, open } = job;
        let (reply, receiver) = oneshot::channel();
        let stage = StreamStage::Queued { frame, _frame_memory: frame_memory, units_memory, reply };
        (QueuedStream { live, session, head, stage, peer, since: now, wake, _open: open }, receiver)
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
            StreamStage::Running { .. } => StreamReadiness::Deferred,
        }
    }

    /// Whether the stream's units are being made.
    pub(super) fn has_begun(&self) -> bool {
        matches!(self.stage, StreamStage::Running { .. })
    }

    /// Advances to the units, and notifies the client. Returns `None` if it is gone.
    pub(super) fn start(mut self, prepared: AnyExpandedQuery, each: u64) -> Option<Self> {
        let (out, units) = mpsc::channel(AHEAD);
        let running = StreamStage::Running { prepared, next: self.head.first, out };
        let queued = std::mem::replace(&mut self.stage, running);
        let StreamStage::Queued { reply, units_memory, .. } = queued else { return None };
        let head = Some(Bytes::from(stream::answer_head(&self.head.pin)));
        let body = UnitBody { head, units, left: self.head.units, each, wake: self.wake.clone() };
        reply.send(Ok((body, units_memory))).ok()?;
        self.since = Instant::now();
        Some(self)
    }

    /// Ends a stream before its units.
    pub(super) fn refuse(self, code: ProblemCode) {
        if let StreamStage::Queued { reply, .. } = self.stage {
            // Sending fails only if the client is gone.
            let _ = reply.send(Err(code));
        }
    }
}

/// The body of a response: its head, and the units as they are made.
pub(crate) struct UnitBody {
    head: Option<Bytes>,
    units: mpsc::Receiver<Bytes>,
    left: u64,
    each: u64,
    wake: Wake,
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
                (self.wake)();
                Poll::Ready(Some(Ok(Frame::data(unit))))
            }
            // Breaks the connection, so that the client does not take an incomplete stream for a
            // complete one.
            Poll::Ready(None) => Poll::Ready(Some(Err(io::Error::other("the row stream was dropped")))),
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
    /// A client that hangs up releases its permit at once.
    fn drop(&mut self) {
        self.units.close();
        (self.wake)();
    }
}

//! The work in the queue: query requests, and jobs that take turns with the passes, a unit of a
//! stream, or a step of other work, at a time.

use super::stream_job::{QueuedStream, StreamReadiness};
use crate::TableEpoch;
use crate::client::{Peer, Requester};
use crate::http_error::HttpError;
use crate::limits::slots::Permit;
use sotto_core::AnySession;
use sotto_wire::{ProblemCode, Timing, query};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// A checked query request. Its frame is exactly as long as its head and the table's parameters
/// say.
pub(crate) struct QueryJob {
    pub(crate) live: Arc<TableEpoch>,
    pub(crate) session: Arc<AnySession>,
    pub(crate) head: query::QueryHead,
    pub(crate) frame: Vec<u8>,
    /// Address of the client.
    pub(crate) peer: Peer,
    /// Memory of the frame, released with it: the request of a client that hangs up stays in the
    /// queue.
    pub(crate) _frame_memory: Permit,
    /// Memory of the answers, until they are sent.
    pub(crate) answer_memory: Permit,
}

/// The answers to a query request, in order, their memory permit, and the times it took.
pub(crate) struct QueryOutcome {
    pub(crate) answers: Vec<Vec<u8>>,
    pub(crate) memory: Permit,
    pub(crate) timing: Timing,
}

/// Result of a query request.
pub(crate) type Reply = Result<QueryOutcome, HttpError>;

/// A query request that is answered by one or more passes.
pub(super) struct QueuedQuery {
    pub(super) job: QueryJob,
    pub(super) answers: Vec<Vec<u8>>,
    pub(super) arrived: Instant,
    pub(super) started: Option<Instant>,
    pub(super) reply: oneshot::Sender<Reply>,
}

impl QueuedQuery {
    /// The number of queries that are not answered yet.
    pub(super) fn left(&self) -> usize {
        usize::from(self.job.head.count).saturating_sub(self.answers.len())
    }
}

/// Refuses a waiting query request. Sending fails only if the client is gone.
pub(super) fn refuse(query: QueuedQuery, refusal: impl Into<HttpError>) {
    let _ = query.reply.send(Err(refusal.into()));
}

/// Work in steps, on the pool's threads.
pub trait StepWork: Send {
    /// Address of the client, for the budget.
    fn peer(&self) -> Peer;

    /// Requester whose turns the work takes.
    fn requester(&self) -> Requester;

    /// Number of steps left: at least one, until the last was made.
    fn left(&self) -> usize;

    /// Whether anyone still waits for the result.
    fn is_wanted(&self) -> bool;

    /// Makes a step.
    fn step(&mut self) -> StepOutcome;

    /// Ends the work, and notifies the client.
    fn refuse(self: Box<Self>, code: ProblemCode);
}

/// Whether work has further steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepOutcome {
    /// The work has further steps.
    Continues,
    /// The last step is done.
    Done,
}

/// Work in steps, in the queue.
pub(super) struct StepJob {
    pub(super) steps: Box<dyn StepWork>,
    /// Time when the work was queued.
    pub(super) since: Instant,
    pub(super) has_begun: bool,
}

/// One of the jobs that take turns.
pub(super) enum InterleavedJob {
    Stream(Box<QueuedStream>),
    Steps(StepJob),
}

impl InterleavedJob {
    pub(super) fn peer(&self) -> Peer {
        match self {
            InterleavedJob::Stream(stream) => stream.peer,
            InterleavedJob::Steps(job) => job.steps.peer(),
        }
    }

    pub(super) fn requester(&self) -> Requester {
        match self {
            InterleavedJob::Stream(stream) => stream.peer.into(),
            InterleavedJob::Steps(job) => job.steps.requester(),
        }
    }

    /// Number of steps left; 0 for a stream, whose number is limited separately.
    pub(super) fn steps_left(&self) -> usize {
        match self {
            InterleavedJob::Stream(_) => 0,
            InterleavedJob::Steps(job) => job.steps.left(),
        }
    }

    /// Ends the job, before its first step or after some; the client is notified, if that is still
    /// possible.
    pub(super) fn refuse(self, code: ProblemCode) {
        match self {
            InterleavedJob::Stream(stream) => stream.refuse(code),
            InterleavedJob::Steps(job) => job.steps.refuse(code),
        }
    }

    pub(super) fn ready(&self, now: Instant, stall: Duration) -> StreamReadiness {
        match self {
            InterleavedJob::Stream(stream) => stream.ready(now, stall),
            InterleavedJob::Steps(job) if job.steps.is_wanted() => StreamReadiness::Yes,
            InterleavedJob::Steps(_) => StreamReadiness::Never,
        }
    }

    /// Whether the job was charged for already, and so continues at the pace of its client's
    /// budget.
    pub(super) fn has_begun(&self) -> bool {
        match self {
            InterleavedJob::Stream(stream) => stream.has_begun(),
            InterleavedJob::Steps(job) => job.has_begun,
        }
    }

    /// The time when a stream last advanced, or when steps were queued.
    pub(super) fn since(&self) -> Instant {
        match self {
            InterleavedJob::Stream(stream) => stream.since,
            InterleavedJob::Steps(job) => job.since,
        }
    }
}

//! What takes turns with the passes: a unit of a stream, or a step of something else, at a time.

use super::stream_job::{QueuedStream, StreamReadiness};
use crate::sessions::{Peer, Requester};
use sotto_wire::Code;
use std::time::{Duration, Instant};

/// Work in steps, on the pool's threads.
pub(crate) trait StepWork: Send {
    /// Whose it is, for the budget.
    fn peer(&self) -> Peer;

    /// Whose turns it takes.
    fn requester(&self) -> Requester;

    /// Steps that are not made yet: one at least, until the last was made.
    fn left(&self) -> usize;

    /// Whether anybody waits for it yet.
    fn is_wanted(&self) -> bool;

    /// Makes a step. False after the last.
    fn step(&mut self) -> bool;

    /// Ends it; the client is told.
    fn refuse(self: Box<Self>, code: Code);
}

/// Work in steps, in the queue.
pub(super) struct StepJob {
    pub(super) steps: Box<dyn StepWork>,
    /// When it came.
    pub(super) since: Instant,
    pub(super) has_begun: bool,
}

/// One of those that take turns.
pub(super) enum InterleavedJob {
    Flow(Box<QueuedStream>),
    Steps(StepJob),
}

impl InterleavedJob {
    pub(super) fn peer(&self) -> Peer {
        match self {
            InterleavedJob::Flow(flow) => flow.peer,
            InterleavedJob::Steps(stepping) => stepping.steps.peer(),
        }
    }

    pub(super) fn requester(&self) -> Requester {
        match self {
            InterleavedJob::Flow(flow) => flow.peer.into(),
            InterleavedJob::Steps(stepping) => stepping.steps.requester(),
        }
    }

    /// Steps that are not made yet; none of a stream, whose places are counted by themselves.
    pub(super) fn steps_left(&self) -> usize {
        match self {
            InterleavedJob::Flow(_) => 0,
            InterleavedJob::Steps(stepping) => stepping.steps.left(),
        }
    }

    /// Ends it, before its first step or after some; the client is told, if it can be yet.
    pub(super) fn refuse(self, code: Code) {
        match self {
            InterleavedJob::Flow(flow) => flow.refuse(code),
            InterleavedJob::Steps(stepping) => stepping.steps.refuse(code),
        }
    }

    pub(super) fn ready(&self, now: Instant, stall: Duration) -> StreamReadiness {
        match self {
            InterleavedJob::Flow(flow) => flow.ready(now, stall),
            InterleavedJob::Steps(stepping) if stepping.steps.is_wanted() => StreamReadiness::Yes,
            InterleavedJob::Steps(_) => StreamReadiness::Never,
        }
    }

    /// Whether it was charged for already, and so goes on at the pace of its client's budget.
    pub(super) fn has_begun(&self) -> bool {
        match self {
            InterleavedJob::Flow(flow) => flow.has_begun(),
            InterleavedJob::Steps(stepping) => stepping.has_begun,
        }
    }

    /// When a stream last got anywhere, or steps came.
    pub(super) fn since(&self) -> Instant {
        match self {
            InterleavedJob::Flow(flow) => flow.since,
            InterleavedJob::Steps(stepping) => stepping.since,
        }
    }
}

//! A query request in the queue.

use crate::TableEpoch;
use crate::client::Peer;
use crate::http_error::HttpError;
use crate::limits::slots::Permit;
use sotto_core::AnySession;
use sotto_wire::{Timing, query};
use std::sync::Arc;
use std::time::Instant;
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

//! A request for lookups and evaluations, answered step by step between the passes: each is one
//! turn of its requester, and turns of others come in between.

use super::metrics::AppleMetrics;
use axum::http::header;
use prometheus_client::metrics::gauge::Gauge;
use sotto_apple::proto::Response;
use sotto_apple::service::{Refusal, RequestPart, responses};
use sotto_server::extension::{HttpError, Peer, Permit, Requester, StepOutcome, StepWork};
use sotto_wire::Code;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;

/// Seconds after which a table that is not ready may be.
const NOT_READY: u64 = 10;

/// The refusal of a request.
pub(super) fn refusal(refused: Refusal) -> HttpError {
    let outcome = refused.outcome();
    let no = HttpError::foreign(refused.status, refused.why + "\n", outcome);
    if refused.status == 503 { no.with_header(header::RETRY_AFTER, NOT_READY) } else { no }
}

/// The body of an answer with its memory permit, or the refusal.
type Reply = Result<(Vec<u8>, Permit), HttpError>;

/// An entry in a gauge for as long as the value exists.
struct Counted(Gauge);

impl Counted {
    fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Counted(gauge.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// The memory of a request: its bytes, and the keys that it contains.
type RequestPermits = (Permit, Option<Permit>);

/// A request for lookups in the queue.
pub(crate) struct LookupJob {
    peer: Peer,
    requester: Requester,
    left: std::vec::IntoIter<RequestPart>,
    answers: Vec<Response>,
    /// Memory of the answers, until they are sent.
    answer_memory: Permit,
    reply: Option<(oneshot::Sender<Reply>, RequestPermits, Counted)>,
    metrics: Arc<AppleMetrics>,
}

impl LookupJob {
    /// A job for these parts of a request, and the receiver of its answer.
    pub(crate) fn new(
        peer: Peer,
        requester: Requester,
        parts: Vec<RequestPart>,
        metrics: Arc<AppleMetrics>,
        held: RequestPermits,
        answer_memory: Permit,
    ) -> (Self, oneshot::Receiver<Reply>) {
        let (reply, receiver) = oneshot::channel();
        let answers = Vec::with_capacity(parts.len());
        let counted = Counted::new(&metrics.open_requests);
        let (left, reply) = (parts.into_iter(), Some((reply, held, counted)));
        (LookupJob { peer, requester, left, answers, answer_memory, reply, metrics }, receiver)
    }

    fn end(&mut self, reply: Reply) -> StepOutcome {
        if let Some((waiting, held, counted)) = self.reply.take() {
            // Released first: a client that has its answer may send the next request at once.
            drop((held, counted));
            // The client may be gone.
            let _ = waiting.send(reply);
        }
        StepOutcome::Done
    }
}

impl StepWork for LookupJob {
    fn peer(&self) -> Peer {
        self.peer
    }

    fn requester(&self) -> Requester {
        self.requester
    }

    fn left(&self) -> usize {
        self.left.len()
    }

    fn is_wanted(&self) -> bool {
        self.reply.as_ref().is_some_and(|(reply, ..)| !reply.is_closed())
    }

    fn step(&mut self) -> StepOutcome {
        if let Some(part) = self.left.next() {
            let began = Instant::now();
            let mut rng = match sotto_prg::system_rng() {
                Ok(rng) => rng,
                Err(error) => {
                    tracing::error!(%error, "no proof could be made");
                    return self.end(Err(Code::Internal.into()));
                }
            };
            let answer = part.answer(&mut rng);
            self.metrics.answered(&part, &answer, began.elapsed());
            match answer {
                Ok(answer) => self.answers.push(answer),
                Err(refused) => return self.end(Err(refusal(refused))),
            }
        }
        match self.left.len() {
            0 => {
                let answers = std::mem::take(&mut self.answers);
                let memory = self.answer_memory.split();
                self.end(Ok((responses(answers), memory)))
            }
            _ => StepOutcome::Continues,
        }
    }

    fn refuse(mut self: Box<Self>, code: Code) {
        self.end(Err(code.into()));
    }
}

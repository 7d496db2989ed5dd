//! A request for lookups and evaluations, answered one after the other between the passes: each is a turn of whoever asks, and
//! those of others come in between.

use crate::memory::MemoryPermit;
use crate::metrics::Metrics;
use crate::refusal::Refusal;
use crate::routes::refusal::RouteRefusal;
use crate::scheduler::StepWork;
use crate::sessions::{Peer, Requester};
use prometheus_client::metrics::gauge::Gauge;
use sotto_apple::proto::Response;
use sotto_apple::service::{RequestPart, responses};
use sotto_wire::Code;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;

/// The body of an answer and the memory that it takes, or why there is none.
type Reply = Result<(Vec<u8>, MemoryPermit), RouteRefusal>;

/// Counted in a gauge, as long as it is there.
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

/// The memory that a request takes: its bytes, and the keys that it brought.
type RequestPermits = (MemoryPermit, Option<MemoryPermit>);

/// Such a request, in the queue.
pub(crate) struct LookupJob {
    peer: Peer,
    requester: Requester,
    left: std::vec::IntoIter<RequestPart>,
    answers: Vec<Response>,
    /// The memory that the answers take, until they are sent.
    answer_room: MemoryPermit,
    reply: Option<(oneshot::Sender<Reply>, RequestPermits, Counted)>,
    metrics: Arc<Metrics>,
}

impl LookupJob {
    /// A request of these parts, and where its answer comes.
    pub(crate) fn new(
        (peer, requester): (Peer, Requester),
        works: Vec<RequestPart>,
        metrics: Arc<Metrics>,
        (held, answer_room): (RequestPermits, MemoryPermit),
    ) -> (Self, oneshot::Receiver<Reply>) {
        let (reply, receiver) = oneshot::channel();
        let answers = Vec::with_capacity(works.len());
        let counted = Counted::new(&metrics.apple.open);
        let (left, reply) = (works.into_iter(), Some((reply, held, counted)));
        (LookupJob { peer, requester, left, answers, answer_room, reply, metrics }, receiver)
    }

    fn end(&mut self, reply: Reply) -> bool {
        if let Some((waiting, held, counted)) = self.reply.take() {
            // Given back first: who has read an answer may ask again at once.
            drop((held, counted));
            // A client that is gone meanwhile is no loss.
            let _ = waiting.send(reply);
        }
        false
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

    fn step(&mut self) -> bool {
        if let Some(work) = self.left.next() {
            let began = Instant::now();
            let mut rng = match sotto_prg::system_rng() {
                Ok(rng) => rng,
                Err(error) => {
                    tracing::error!(%error, "no proof could be made");
                    return self.end(Err(Code::Internal.into()));
                }
            };
            let answer = work.answer(&mut rng);
            self.metrics.apple.answered(&work, &answer, began.elapsed());
            match answer {
                Ok(answer) => self.answers.push(answer),
                Err(refused) => return self.end(Err(RouteRefusal::apple(refused))),
            }
        }
        match self.left.len() {
            0 => {
                let answers = std::mem::take(&mut self.answers);
                let room = self.answer_room.split();
                self.end(Ok((responses(answers), room)))
            }
            _ => true,
        }
    }

    fn refuse(mut self: Box<Self>, code: Code) {
        self.end(Err(RouteRefusal::Problem(Refusal::of(code))));
    }
}

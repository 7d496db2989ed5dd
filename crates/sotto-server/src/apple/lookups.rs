//! A request for lookups and evaluations, answered one after the other between the passes: those of others take turns with it.

use crate::admission::Peer;
use crate::batch::Steps;
use crate::metrics::Metrics;
use crate::quota::Open;
use crate::refusal::Refusal;
use crate::routes::no::No;
use sotto_apple::proto::Response;
use sotto_apple::service::{Work, responses};
use sotto_wire::Code;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;

/// The body of an answer, or why there is none.
type Reply = Result<Vec<u8>, No>;

/// The memory that a request takes, and its user's place.
type Held = (Open, Open<[u8; 16]>);

/// Such a request, in the queue.
pub(crate) struct Lookups {
    peer: Peer,
    left: std::vec::IntoIter<Work>,
    answers: Vec<Response>,
    reply: Option<(oneshot::Sender<Reply>, Held)>,
    metrics: Arc<Metrics>,
}

impl Lookups {
    /// A request of these parts, and where its answer comes.
    pub(crate) fn new(
        peer: Peer,
        works: Vec<Work>,
        metrics: Arc<Metrics>,
        held: Held,
    ) -> (Self, oneshot::Receiver<Reply>) {
        let (reply, receiver) = oneshot::channel();
        let answers = Vec::with_capacity(works.len());
        let (left, reply) = (works.into_iter(), Some((reply, held)));
        (Lookups { peer, left, answers, reply, metrics }, receiver)
    }

    fn end(&mut self, reply: Reply) -> bool {
        if let Some((waiting, held)) = self.reply.take() {
            // Given back first: who has read an answer may ask again at once.
            drop(held);
            // A client that is gone meanwhile is no loss.
            let _ = waiting.send(reply);
        }
        false
    }
}

impl Steps for Lookups {
    fn peer(&self) -> Peer {
        self.peer
    }

    fn is_wanted(&self) -> bool {
        self.reply.as_ref().is_some_and(|(reply, _)| !reply.is_closed())
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
                Err(refused) => return self.end(Err(No::apple(refused))),
            }
        }
        match self.left.len() {
            0 => {
                let answers = std::mem::take(&mut self.answers);
                self.end(Ok(responses(answers)))
            }
            _ => true,
        }
    }

    fn refuse(mut self: Box<Self>, code: Code) {
        self.end(Err(No::Ours(Refusal::of(code))));
    }
}

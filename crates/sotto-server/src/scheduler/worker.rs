//! The thread that makes the passes, and the units of streams between them.

use super::queue::{FinishedWork, NextWork, PlannedPass, Queue, QueuedQuery};
use super::step_job::{InterleavedJob, StepJob};
use super::stream_job::{QueuedStream, StreamStage};
use super::{QueryOutcome, Reply};
use crate::TableEpoch;
use crate::metrics::Metrics;
use crate::time_budget::TimeBudget;
use sotto_core::{AnySession, Error, ExpectOrDefault};
use sotto_wire::{Code, Timing, query, stream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

pub(super) struct Worker {
    pub(super) queue: Arc<Queue>,
    pub(super) pool: rayon::ThreadPool,
    pub(super) budget: Arc<TimeBudget>,
    pub(super) metrics: Arc<Metrics>,
}

type Answers = Vec<sotto_core::Result<Vec<u8>>>;

impl Worker {
    /// Makes passes until the queue is closed and empty.
    pub(super) fn run(self) {
        let mut done = FinishedWork::Nothing;
        while let Some(work) = self.queue.next(done) {
            let began = Instant::now();
            done = match work {
                NextWork::Pass(pass) => {
                    self.make(pass);
                    FinishedWork::Pass(began.elapsed())
                }
                NextWork::Unit(turn) => {
                    let peer = turn.peer();
                    match turn {
                        InterleavedJob::Flow(flow) => self.step(flow),
                        InterleavedJob::Steps(stepping) => self.step_on(stepping),
                    }
                    self.budget.charge(peer, began.elapsed(), (1, 1), Instant::now());
                    FinishedWork::Unit
                }
            };
        }
    }

    /// Makes one step of other work. A step that panics costs that work, not the server.
    fn step_on(&self, mut stepping: StepJob) {
        stepping.has_begun = true;
        match catch_unwind(AssertUnwindSafe(|| self.pool.install(|| stepping.steps.step()))) {
            Ok(true) => self.queue.put_turn_back(InterleavedJob::Steps(stepping)),
            Ok(false) => {}
            Err(_) => {
                tracing::error!("a step panicked; its work is refused");
                stepping.steps.refuse(Code::Internal);
            }
        }
    }

    /// Makes one step of a stream: expands its query, or makes a unit. An error after the first
    /// step ends the stream, and its client sees the connection break.
    fn step(&self, mut flow: Box<QueuedStream>) {
        let live = flow.live.clone();
        let Some(scheme) = live.server().stream() else { return flow.refuse(Code::Internal) };
        match &mut flow.stage {
            StreamStage::Queued { frame, .. } => {
                let query = frame
                    .get(stream::HEAD_BYTES..)
                    .expect_or_default("a frame's length was checked when it was read");
                match self.guarded(&live, || scheme.prepare(&flow.session, query)) {
                    Ok(prepared) => {
                        if let Some(flow) = flow.start(prepared, scheme.units().answer_bytes) {
                            self.queue.put_turn_back(InterleavedJob::Flow(Box::new(flow)));
                        }
                    }
                    Err(code) => flow.refuse(code),
                }
            }
            StreamStage::Running { prepared, next, out } => {
                let Ok(unit) = self.guarded(&live, || scheme.unit(prepared, *next)) else { return };
                if unit.len() as u64 != scheme.units().answer_bytes {
                    return tracing::error!(table = ?live, "the scheme gave a unit of the wrong size");
                }
                // Counted first, so that a client that has read a stream finds its units in the
                // metrics.
                self.metrics.unit(live.catalog().table.as_str());
                // There was space before the unit was made, and nobody else sends.
                if out.try_send(unit.into()).is_err() {
                    return;
                }
                *next += 1;
                flow.since = Instant::now();
                if *next < flow.head.first.saturating_add(flow.head.units) {
                    self.queue.put_turn_back(InterleavedJob::Flow(flow));
                }
            }
        }
    }

    /// Runs a step of a scheme on the pool's threads.
    fn guarded<T: Send>(
        &self,
        live: &TableEpoch,
        step: impl FnOnce() -> sotto_core::Result<T> + Send,
    ) -> Result<T, Code> {
        let made = catch_unwind(AssertUnwindSafe(|| self.pool.install(step)));
        // Checked before any error is returned: a lost image is the fault of this server alone.
        live.check()?;
        match made {
            Ok(Ok(made)) => Ok(made),
            Ok(Err(Error::Peer(_))) => Err(Code::BadQuery),
            Ok(Err(error)) => {
                tracing::error!(table = ?live, %error, "the scheme could not answer");
                Err(Code::Internal)
            }
            Err(_) => {
                tracing::error!(table = ?live, "the scheme panicked; its stream ends");
                Err(Code::Internal)
            }
        }
    }

    fn make(&self, pass: PlannedPass) {
        let PlannedPass { live, parts } = pass;
        let bytes = live.server().query_bytes();
        let queries: Vec<_> = parts.iter().flat_map(|(one, take)| queries(one, *take, bytes)).collect();
        self.metrics.pass(live.catalog().table.as_str(), queries.len());
        let span =
            tracing::debug_span!("pass", table = live.catalog().table.as_str(), queries = queries.len());
        let (began, whole) = (Instant::now(), queries.len());
        let mut answers = span.in_scope(|| self.answer(&live, &queries)).into_iter();
        drop(queries);
        let (ended, took) = (Instant::now(), began.elapsed());
        parts.iter().for_each(|(one, take)| self.budget.charge(one.ask.peer, took, (*take, whole), ended));
        // Checked after the pass, and before its results are used: a lost image gives zeros, which
        // are no rows, and may look to a scheme like a fault of the query.
        if let Err(code) = live.check() {
            return parts.into_iter().for_each(|(one, _)| reply(one, Err(code.into())));
        }
        for (one, take) in parts {
            let share = answers.by_ref().take(take).collect();
            self.settle(one, take, share, live.server().answer_bytes());
        }
    }

    /// Answers the queries of a pass. A scheme that panics costs the requests of its pass, not the
    /// server.
    fn answer(&self, live: &TableEpoch, queries: &[(&AnySession, &[u8])]) -> Answers {
        let answer = || self.pool.install(|| live.server().answer_many(queries));
        catch_unwind(AssertUnwindSafe(answer)).unwrap_or_else(|_| {
            tracing::error!(table = ?live, queries = queries.len(), "the scheme panicked; its asks are refused");
            Vec::new()
        })
    }

    /// Adds a pass's answers to a query request; replies if those were the last, or one is an
    /// error.
    fn settle(&self, mut one: QueuedQuery, due: usize, share: Answers, answer_bytes: usize) {
        if share.len() != due {
            return reply(one, Err(Code::Internal.into()));
        }
        for answer in share {
            match answer {
                Ok(answer) if answer.len() == answer_bytes => one.answers.push(answer),
                Err(Error::Peer(_)) => return reply(one, Err(Code::BadQuery.into())),
                Ok(_) => {
                    tracing::error!(table = ?one.ask.live, "the scheme gave an answer of the wrong size");
                    return reply(one, Err(Code::Internal.into()));
                }
                Err(error) => {
                    tracing::error!(table = ?one.ask.live, %error, "the scheme could not answer");
                    return reply(one, Err(Code::Internal.into()));
                }
            }
        }
        if one.left() > 0 {
            return self.queue.put_back(one);
        }
        let started = one.started.unwrap_or(one.arrived);
        let timing =
            Timing { queue: started.saturating_duration_since(one.arrived), pass: started.elapsed() };
        let (answers, room) = (std::mem::take(&mut one.answers), one.ask.answer_room.split());
        reply(one, Ok(QueryOutcome { answers, room, timing }));
    }
}

/// The next `take` queries of a request, each with its session.
fn queries(one: &QueuedQuery, take: usize, bytes: usize) -> impl Iterator<Item = (&AnySession, &[u8])> {
    let first = query::HEAD_BYTES + one.answers.len() * bytes;
    let at = move |i: usize| one.ask.frame.get(first + i * bytes..first + (i + 1) * bytes);
    (0..take).map(move |i| {
        (one.ask.session.as_ref(), at(i).expect_or_default("a frame's length was checked when it was read"))
    })
}

/// Sends the reply; the client may be gone.
fn reply(one: QueuedQuery, reply: Reply) {
    let _ = one.reply.send(reply);
}

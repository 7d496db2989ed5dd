//! The thread that makes the passes, and the units of streams between them.

use super::jobs::{InterleavedJob, StepJob, StepOutcome};
use super::jobs::{QueryOutcome, QueuedQuery, Reply};
use super::queue::{FinishedWork, NextWork, PlannedPass, Queue};
use super::stream_job::{QueuedStream, StreamStage};
use crate::TableEpoch;
use crate::limits::{TimeBudget, share};
use crate::metrics::ServerMetrics;
use sotto_core::{AnySession, Error, ExpectOrDefault};
use sotto_wire::{ProblemCode, Timing, query, stream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

pub(super) struct Worker {
    pub(super) queue: Arc<Queue>,
    pub(super) pool: rayon::ThreadPool,
    pub(super) budget: Arc<TimeBudget>,
    pub(super) metrics: Arc<ServerMetrics>,
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
                NextWork::Unit(job) => {
                    let peer = job.peer();
                    match job {
                        InterleavedJob::Stream(stream) => self.step_stream(stream),
                        InterleavedJob::Steps(job) => self.step(job),
                    }
                    self.budget.charge(peer, began.elapsed(), Instant::now());
                    FinishedWork::Unit
                }
            };
        }
    }

    /// Makes one step of other work. A step that panics costs that work, not the server.
    fn step(&self, mut job: StepJob) {
        job.has_begun = true;
        match catch_unwind(AssertUnwindSafe(|| self.pool.install(|| job.steps.step()))) {
            Ok(StepOutcome::Continues) => self.queue.put_job_back(InterleavedJob::Steps(job)),
            Ok(StepOutcome::Done) => {}
            Err(_) => {
                tracing::error!("a step panicked; its job is refused");
                job.steps.refuse(ProblemCode::Internal);
            }
        }
    }

    /// Makes one step of a stream: expands its query, or makes a unit. An error after the first
    /// step ends the stream, and its client sees the connection break.
    fn step_stream(&self, mut job: Box<QueuedStream>) {
        let live = job.live.clone();
        let Some(scheme) = live.server().stream() else { return job.refuse(ProblemCode::Internal) };
        match &mut job.stage {
            StreamStage::Queued { frame, .. } => {
                let query = frame
                    .get(stream::HEAD_BYTES..)
                    .expect_or_default("a frame's length was checked when it was read");
                match self.guarded(&live, || scheme.prepare(&job.session, query)) {
                    Ok(prepared) => {
                        if let Some(job) = job.start(prepared, scheme.units().answer_bytes) {
                            self.queue.put_job_back(InterleavedJob::Stream(Box::new(job)));
                        }
                    }
                    Err(code) => job.refuse(code),
                }
            }
            StreamStage::Running { prepared, next, out } => {
                let Ok(unit) = self.guarded(&live, || scheme.unit(prepared, *next)) else { return };
                if unit.len() as u64 != scheme.units().answer_bytes {
                    return tracing::error!(table = ?live, "the scheme returned a unit of the wrong size");
                }
                // Counted first, so that a client that has read a stream finds its units in the
                // metrics.
                self.metrics.unit(live.catalog().table.as_str());
                // There was space before the unit was made, and nobody else sends.
                if out.try_send(unit.into()).is_err() {
                    return;
                }
                *next += 1;
                job.since = Instant::now();
                if *next < job.head.first.saturating_add(job.head.units) {
                    self.queue.put_job_back(InterleavedJob::Stream(job));
                }
            }
        }
    }

    /// Runs a step of a scheme on the pool's threads.
    fn guarded<T: Send>(
        &self,
        live: &TableEpoch,
        step: impl FnOnce() -> sotto_core::Result<T> + Send,
    ) -> Result<T, ProblemCode> {
        let made = catch_unwind(AssertUnwindSafe(|| self.pool.install(step)));
        // Checked before any error is returned: a lost image is the fault of this server alone.
        live.check()?;
        match made {
            Ok(Ok(made)) => Ok(made),
            Ok(Err(Error::Peer(_))) => Err(ProblemCode::BadQuery),
            Ok(Err(error)) => {
                tracing::error!(table = ?live, %error, "the scheme could not answer");
                Err(ProblemCode::Internal)
            }
            Err(_) => {
                tracing::error!(table = ?live, "the scheme panicked; the row stream ends");
                Err(ProblemCode::Internal)
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
        let (began, total) = (Instant::now(), queries.len());
        let mut answers = span.in_scope(|| self.answer(&live, &queries)).into_iter();
        drop(queries);
        let (ended, took) = (Instant::now(), began.elapsed());
        live.add_pass(total, took);
        for (one, take) in &parts {
            self.budget.charge(one.job.peer, share(took, *take, total), ended);
        }
        // Checked after the pass, and before its results are used: a lost image gives zeros, which
        // are no rows, and may look to a scheme like a fault of the query.
        if let Err(code) = live.check() {
            return parts.into_iter().for_each(|(one, _)| reply(one, Err(code.into())));
        }
        for (one, take) in parts {
            let answers = answers.by_ref().take(take).collect();
            self.settle(one, take, answers, live.server().answer_bytes());
        }
    }

    /// Answers the queries of a pass. A scheme that panics costs the requests of its pass, not the
    /// server.
    fn answer(&self, live: &TableEpoch, queries: &[(&AnySession, &[u8])]) -> Answers {
        let answer = || self.pool.install(|| live.server().answer_many(queries));
        catch_unwind(AssertUnwindSafe(answer)).unwrap_or_else(|_| {
            tracing::error!(table = ?live, queries = queries.len(), "the scheme panicked; the queries of the pass \
                 are refused");
            Vec::new()
        })
    }

    /// Adds a pass's answers to a query request; replies if those were the last, or one is an
    /// error.
    fn settle(&self, mut one: QueuedQuery, due: usize, answers: Answers, answer_bytes: usize) {
        if answers.len() != due {
            return reply(one, Err(ProblemCode::Internal.into()));
        }
        for answer in answers {
            match answer {
                Ok(answer) if answer.len() == answer_bytes => one.answers.push(answer),
                Err(Error::Peer(_)) => return reply(one, Err(ProblemCode::BadQuery.into())),
                Ok(_) => {
                    tracing::error!(table = ?one.job.live, "the scheme returned an answer of the wrong size");
                    return reply(one, Err(ProblemCode::Internal.into()));
                }
                Err(error) => {
                    tracing::error!(table = ?one.job.live, %error, "the scheme could not answer");
                    return reply(one, Err(ProblemCode::Internal.into()));
                }
            }
        }
        if one.left() > 0 {
            return self.queue.put_back(one);
        }
        let started = one.started.unwrap_or(one.arrived);
        let timing =
            Timing { queue: started.saturating_duration_since(one.arrived), pass: started.elapsed() };
        let (answers, memory) = (std::mem::take(&mut one.answers), one.job.answer_memory.split());
        reply(one, Ok(QueryOutcome { answers, memory, timing }));
    }
}

/// The next `take` queries of a request, each with its session.
fn queries(one: &QueuedQuery, take: usize, bytes: usize) -> impl Iterator<Item = (&AnySession, &[u8])> {
    let first = query::HEAD_BYTES + one.answers.len() * bytes;
    let at = move |i: usize| one.job.frame.get(first + i * bytes..first + (i + 1) * bytes);
    (0..take).map(move |i| {
        (one.job.session.as_ref(), at(i).expect_or_default("a frame's length was checked when it was read"))
    })
}

/// Sends the reply; the client may be gone.
fn reply(one: QueuedQuery, reply: Reply) {
    let _ = one.reply.send(reply);
}

//! The queue of waiting work, and the choice of the next: passes, and between them steps of streams
//! and of requests for lookups.

use super::SchedulerLimits;
use super::fair_queue::{FairQueue, Lead};
use super::jobs::InterleavedJob;
use super::jobs::{QueryJob, QueuedQuery, Reply, refuse};
use super::stream_job::StreamReadiness;
use crate::TableEpoch;
use crate::client::Requester;
use crate::limits::TimeBudget;
use crate::locked;
use crate::metrics::ServerMetrics;
use sotto_wire::ProblemCode;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

const MOMENT: Duration = Duration::from_millis(1);

/// The contents of one pass: for each query request, the number of its queries.
pub(super) struct PlannedPass {
    pub(super) live: Arc<TableEpoch>,
    pub(super) parts: Vec<(QueuedQuery, usize)>,
}

/// The next work of the worker.
pub(super) enum NextWork {
    Pass(PlannedPass),
    /// The next step of a stream or of other work, which then goes to the end of its queue.
    Unit(InterleavedJob),
}

/// The work that the worker has just done.
#[derive(Debug, Clone, Copy)]
pub(super) enum FinishedWork {
    /// A pass, and its duration.
    Pass(Duration),
    /// A step of a stream or of other work.
    Unit,
    /// Nothing yet.
    Nothing,
}

struct QueueState {
    waiting: FairQueue,
    closed: bool,
    /// Whether the worker is working.
    busy: bool,
    /// Expected duration of a pass, from the last ones.
    pass: Duration,
}

pub(super) struct Queue {
    limits: SchedulerLimits,
    state: Mutex<QueueState>,
    changed: Condvar,
    /// Notified when the worker has finished something.
    rested: Condvar,
    budget: Arc<TimeBudget>,
    metrics: Arc<ServerMetrics>,
}

impl Queue {
    pub(super) fn new(limits: SchedulerLimits, budget: Arc<TimeBudget>, metrics: Arc<ServerMetrics>) -> Self {
        let state = QueueState {
            waiting: FairQueue::new(limits.max_queries),
            closed: false,
            busy: false,
            pass: Duration::ZERO,
        };
        Queue {
            limits,
            state: Mutex::new(state),
            changed: Condvar::new(),
            rested: Condvar::new(),
            budget,
            metrics,
        }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        locked(&self.state)
    }

    pub(super) fn push(&self, job: QueryJob, now: Instant) -> Result<oneshot::Receiver<Reply>, ProblemCode> {
        let (reply, receiver) = oneshot::channel();
        let mut state = self.state();
        if state.closed {
            return Err(ProblemCode::ShuttingDown);
        }
        // A request that could not be answered before its deadline is refused at once, and not
        // after waiting in vain.
        let requester = Requester::from(job.peer);
        let passes = state.waiting.before(requester) / job.live.pass_limit(self.limits.max_queries);
        if state.pass.saturating_mul(u32::try_from(passes).unwrap_or(u32::MAX)) > self.limits.deadline {
            return Err(ProblemCode::Busy);
        }
        // There is one limit for all, so that a requester that is alone may use all of it; once it
        // is reached, the requester that has the most waiting loses a request, so that nobody is
        // kept out by others' requests.
        if state.waiting.requests() >= self.limits.max_queue {
            let evicted = state.waiting.evict_youngest(requester).ok_or(ProblemCode::Busy)?;
            self.metrics.queue_evictions.inc();
            refuse(evicted, ProblemCode::Busy);
        }
        let answers = Vec::with_capacity(usize::from(job.head.count));
        state.waiting.push(QueuedQuery { job, answers, arrived: now, started: None, reply });
        self.metrics.queue_depth.set(state.waiting.requests() as i64);
        self.changed.notify_one();
        Ok(receiver)
    }

    /// Puts back a query request whose queries did not all fit into a pass.
    pub(super) fn put_back(&self, waiting: QueuedQuery) {
        self.state().waiting.push(waiting);
    }

    pub(super) fn push_job(&self, job: InterleavedJob) -> Result<(), ProblemCode> {
        let mut state = self.state();
        if state.closed {
            return Err(ProblemCode::ShuttingDown);
        }
        // As for query requests, there is one limit for all; once it is reached, the requester that
        // has the most steps waiting loses a request.
        let steps = job.steps_left();
        if steps > 0 && state.waiting.stepped() >= self.limits.max_stepped {
            let evicted = state.waiting.evict_job(job.requester(), steps).ok_or(ProblemCode::Busy)?;
            self.metrics.queue_evictions.inc();
            evicted.refuse(ProblemCode::Busy);
        }
        state.waiting.push_job(job);
        self.changed.notify_one();
        Ok(())
    }

    /// Puts back a job that continues.
    pub(super) fn put_job_back(&self, job: InterleavedJob) {
        self.state().waiting.push_job(job);
    }

    /// Wakes the worker to check the streams: a client has read, or is gone.
    pub(super) fn wake(&self) {
        // Locked and released, so that a worker which is about to sleep sleeps before it is woken.
        drop(self.state());
        self.changed.notify_one();
    }

    pub(super) fn close(&self) {
        self.state().closed = true;
        self.changed.notify_one();
    }

    /// Waits until the worker is idle and no query request waits, but no longer than `limit`.
    pub(super) fn wait_until_idle(&self, limit: Duration) {
        let busy = |state: &mut QueueState| state.busy || state.waiting.requests() > 0;
        drop(self.rested.wait_timeout_while(self.state(), limit, busy));
    }

    /// The next work; waits for it. Returns `None` once the queue is closed and empty.
    pub(super) fn next(&self, done: FinishedWork) -> Option<NextWork> {
        let mut state = self.state();
        state.busy = false;
        self.rested.notify_all();
        let last_pass = match done {
            FinishedWork::Pass(took) => took,
            FinishedWork::Unit | FinishedWork::Nothing => Duration::ZERO,
        };
        state.pass = match done {
            FinishedWork::Pass(took) if state.pass.is_zero() => took,
            FinishedWork::Pass(took) => (state.pass * 3 + took) / 4,
            FinishedWork::Unit | FinishedWork::Nothing => state.pass,
        };
        // Waiting longer than a fraction of a pass could not pay for itself on a small table.
        let max_pause = self.limits.max_wait.min(last_pass / 2);
        let ended = Instant::now();
        loop {
            let now = Instant::now();
            self.remove_expired(&mut state.waiting, now);
            self.metrics.queue_depth.set(state.waiting.requests() as i64);
            let (lead, mut wait) = self.lead(&state.waiting, now);
            let work = match lead {
                // More requests may come.
                Some(Lead::Pass)
                    if !state.closed && state.waiting.queries() < self.pass_limit(&state.waiting) =>
                {
                    wait = max_pause.checked_sub(ended.elapsed()).filter(|rest| !rest.is_zero());
                    wait.is_none().then(|| self.take(&mut state.waiting, now)).flatten().map(NextWork::Pass)
                }
                Some(Lead::Pass) => self.take(&mut state.waiting, now).map(NextWork::Pass),
                Some(Lead::Job(requester, at)) => state.waiting.take_job(requester, at).map(NextWork::Unit),
                None if state.closed && state.waiting.jobs() == 0 => return None,
                None => None,
            };
            if work.is_some() {
                self.metrics.queue_depth.set(state.waiting.requests() as i64);
                state.busy = true;
                return work;
            }
            state = match wait {
                Some(wait) => {
                    let waited = self.changed.wait_timeout(state, wait);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// The next work. If nothing is ready, returns the time after which to check the jobs again.
    fn lead(&self, waiting: &FairQueue, now: Instant) -> (Option<Lead>, Option<Duration>) {
        let lead = waiting.lead(|job| self.wait(job, now).is_zero());
        let wait =
            if lead.is_none() { waiting.each_job().map(|job| self.wait(job, now)).min() } else { None };
        (lead, wait)
    }

    /// The time until a job may make its next step, or has expired. A job that has begun continues
    /// at the pace of its client's budget.
    fn wait(&self, job: &InterleavedJob, now: Instant) -> Duration {
        match job.ready(now, self.limits.stall) {
            StreamReadiness::Yes if job.has_begun() => self.budget.wait(job.peer(), now).unwrap_or_default(),
            StreamReadiness::Yes => Duration::ZERO,
            // The job is dropped at the next check.
            StreamReadiness::Never => MOMENT,
            // A little later than the limit, when the wait is over it.
            StreamReadiness::Deferred => {
                (job.since() + self.limits.stall).saturating_duration_since(now) + MOMENT
            }
        }
    }

    /// Drops requests that nobody waits for any more, that have waited too long, or whose client
    /// has used up its time, before any work is done for them.
    fn remove_expired(&self, waiting: &mut FairQueue, now: Instant) {
        let since = |at: Instant| now.saturating_duration_since(at);
        let is_over =
            |job: &InterleavedJob| matches!(job.ready(now, self.limits.stall), StreamReadiness::Never);
        let is_late = |job: &InterleavedJob| !job.has_begun() && since(job.since()) > self.limits.deadline;
        waiting.remove_jobs_where(
            |job| is_over(job) || is_late(job),
            |job| match is_over(&job) {
                true => {
                    self.metrics.abandoned_requests.inc();
                }
                false => job.refuse(ProblemCode::Deadline),
            },
        );
        let late = |one: &QueuedQuery| since(one.arrived) > self.limits.deadline;
        // The requests of a requester come one after the other, so each requester is looked up
        // once.
        let mut known: Option<(Requester, bool)> = None;
        let mut over = |one: &QueuedQuery| {
            let requester = Requester::from(one.job.peer);
            match known {
                Some((same, over)) if same == requester => over,
                _ => known.insert((requester, self.budget.wait(one.job.peer, now).is_some())).1,
            }
        };
        // A request that has begun is finished.
        let goes =
            |one: &QueuedQuery| one.reply.is_closed() || one.started.is_none() && (late(one) || over(one));
        waiting.remove_where(goes, |one| {
            if one.reply.is_closed() {
                self.metrics.abandoned_requests.inc();
            } else if late(&one) {
                refuse(one, ProblemCode::Deadline);
            } else {
                // The client may have time again by now.
                let refusal = self.budget.check(one.job.peer, now).err();
                refuse(one, refusal.unwrap_or_else(|| ProblemCode::Busy.into()));
            }
        });
    }

    /// The maximum number of queries of the next pass.
    fn pass_limit(&self, waiting: &FairQueue) -> usize {
        waiting.next_epoch().map_or(1, |live| live.pass_limit(self.limits.max_queries))
    }

    /// Takes the contents of one pass.
    fn take(&self, waiting: &mut FairQueue, now: Instant) -> Option<PlannedPass> {
        let (live, mut parts) = waiting.take(self.pass_limit(waiting))?;
        parts.iter_mut().for_each(|(one, _)| {
            one.started.get_or_insert(now);
        });
        Some(PlannedPass { live, parts })
    }
}

#[cfg(test)]
mod tests;

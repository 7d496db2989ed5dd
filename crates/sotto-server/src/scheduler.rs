//! Query requests of many clients, answered in one pass over the data.
//!
//! One worker thread makes one pass at a time, with every thread of the pool: a pass is bound by
//! memory bandwidth, so two at once would each take twice as long and read everything twice. While
//! a pass runs, requests queue up; the next pass takes as many queries as it may, all for one epoch
//! of one table. So a request that finds the server idle starts at once, and under load batches
//! form by themselves. After a pass that leaves too few queries behind for a full one, the worker
//! waits a moment for more: the clients just answered are about to send their next requests.
//!
//! Requesters take turns in the queue: networks, or tokens if requests bring some. The requests of
//! one are ordered by age. A request of more queries than a pass takes is spread over several, and
//! goes to the end of its queue in between, so that large requests do not hold up small ones.
//!
//! Streams and requests of other protocols are in the same queue: a unit or a step is a turn of its
//! requester, however many requests it has, and however many steps are in one. A stream whose client
//! does not read has no turn until it does.
//!
//! | module | contents |
//! |---|---|
//! | `jobs` | query requests, streams and other work in steps, in the queue |
//! | `queue` | the waiting requests, and when the next pass begins |
//! | `fair_queue` | whose turn it is |
//! | `stream_job` | a stream in progress |
//! | `worker` | the thread that makes the passes and the units |

mod fair_queue;
mod jobs;
mod queue;
mod stream_job;
mod worker;

use crate::limits::TimeBudget;
use crate::locked;
use crate::low_priority::thread_pool;
use crate::metrics::ServerMetrics;
use crate::{ServerConfig, StartError};
use jobs::Reply;
use jobs::{InterleavedJob, StepJob};
pub(crate) use jobs::{QueryJob, QueryOutcome};
pub use jobs::{StepOutcome, StepWork};
use queue::Queue;
use sotto_wire::ProblemCode;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use stream_job::QueuedStream;
pub(crate) use stream_job::{Started, StreamJob};
use tokio::sync::oneshot;

/// Maximum time that low-priority work waits for gaps between the passes: on a server without gaps,
/// a client's first lookup takes this much longer, once.
const PATIENCE: Duration = Duration::from_millis(100);

/// Limits of the queue and of the passes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SchedulerLimits {
    pub(crate) max_queue: usize,
    /// Maximum number of requests in steps that wait.
    pub(crate) max_stepped: usize,
    /// Maximum number of queries in a pass, whatever its times are.
    pub(crate) max_queries: usize,
    pub(crate) max_wait: Duration,
    pub(crate) deadline: Duration,
    /// Maximum time that a stream waits for its client to read.
    pub(crate) stall: Duration,
}

impl SchedulerLimits {
    pub(crate) fn of(config: &ServerConfig, max_stepped: usize) -> Self {
        SchedulerLimits {
            max_queue: config.max_queue,
            max_stepped,
            max_queries: config.batch.max_queries,
            max_wait: Duration::from_micros(config.batch.max_wait_us),
            deadline: Duration::from_millis(config.deadline_ms),
            stall: config.idle_timeout(),
        }
    }
}

/// The queue and its worker.
pub(crate) struct Scheduler {
    queue: Arc<Queue>,
    worker: Mutex<Option<JoinHandle<()>>>,
}

impl Scheduler {
    /// Starts the worker, with a pool of `threads` threads (0: one per core).
    ///
    /// # Errors
    /// [`StartError::Threads`].
    pub(crate) fn start(
        limits: SchedulerLimits,
        threads: usize,
        budget: Arc<TimeBudget>,
        metrics: Arc<ServerMetrics>,
    ) -> Result<Self, StartError> {
        let pool = thread_pool("pass", threads, || ())?;
        let queue = Arc::new(Queue::new(limits, budget.clone(), metrics.clone()));
        let worker = worker::Worker { queue: queue.clone(), pool, budget, metrics };
        let handle = std::thread::Builder::new()
            .name("sotto-batch".into())
            .spawn(move || worker.run())
            .map_err(StartError::Threads)?;
        Ok(Scheduler { queue, worker: Mutex::new(Some(handle)) })
    }

    /// Queues a query request. Dropping the receiver removes it, unless its pass has begun.
    ///
    /// # Errors
    /// [`ProblemCode::Busy`] if the queue is full and no other requester has more in it,
    /// [`ProblemCode::ShuttingDown`] after [`Scheduler::finish`].
    pub(crate) fn submit(&self, job: QueryJob) -> Result<oneshot::Receiver<Reply>, ProblemCode> {
        self.queue.push(job, Instant::now())
    }

    /// Queues a stream. The receiver gets its units once its query is expanded.
    ///
    /// # Errors
    /// [`ProblemCode::ShuttingDown`] after [`Scheduler::finish`].
    pub(crate) fn submit_stream(&self, job: StreamJob) -> Result<oneshot::Receiver<Started>, ProblemCode> {
        let queue = self.queue.clone();
        let wake = Arc::new(move || queue.wake());
        let (stream, receiver) = QueuedStream::new(job, wake, Instant::now());
        self.queue.push_job(InterleavedJob::Stream(Box::new(stream)))?;
        Ok(receiver)
    }

    /// Queues work in steps.
    ///
    /// # Errors
    /// [`ProblemCode::Busy`] if the queue is full and no other requester has more steps waiting,
    /// [`ProblemCode::ShuttingDown`] after [`Scheduler::finish`].
    pub(crate) fn submit_steps(&self, steps: Box<dyn StepWork>) -> Result<(), ProblemCode> {
        let job = StepJob { steps, since: Instant::now(), has_begun: false };
        self.queue.push_job(InterleavedJob::Steps(job))
    }

    /// A function that waits until no pass is in progress, each time that it is called, for at most
    /// [`PATIENCE`] in total.
    pub(crate) fn wait_until_idle(&self) -> impl FnMut() + 'static {
        let (queue, mut left) = (self.queue.clone(), PATIENCE);
        move || {
            let began = Instant::now();
            queue.wait_until_idle(left);
            left = left.saturating_sub(began.elapsed());
        }
    }

    /// Accepts no more requests; the worker answers the queued ones and ends.
    pub(crate) fn close(&self) {
        self.queue.close();
    }

    /// Closes the queue as [`Scheduler::close`] does, and waits for the worker to end.
    pub(crate) fn finish(&self) {
        self.close();
        let worker = locked(&self.worker).take();
        if worker.is_some_and(|worker| worker.join().is_err()) {
            tracing::error!("a scheduler worker panicked");
        }
    }
}

//! Asks of many clients, answered in one pass over the data.
//!
//! One worker thread makes one pass at a time, with every thread of the pool: a pass is bound by memory
//! bandwidth, so two at once would each take twice as long and read everything twice. While a pass runs,
//! asks queue up; the next pass takes as many queries as it may, all about one epoch of one table. So
//! an ask that finds the server idle starts at once, and under load batches form by themselves. After a
//! pass that leaves too few behind for a full one, the worker waits a moment for company: the clients just
//! answered are about to ask again.
//!
//! Requesters take turns in the queue: networks, or tokens where requests bring some. The asks of one go by age. An ask of more
//! queries than a pass takes is spread over several, and goes to the end of its line in between, so that large asks do not hold
//! up small ones.
//!
//! Streams and requests for Apple's lookups are in the same queue: a unit or a lookup is a turn of its requester, however many
//! requests it has, and however many lookups are in one. A stream whose client does not read has no turn until it does.
//!
//! | module | what lives there |
//! |---|---|
//! | `queue` | the asks that wait, and when the next pass begins |
//! | `fair` | whose turn it is |
//! | `flow` | a stream on its way |
//! | `turn` | what takes turns with the passes: streams, and other work in steps |
//! | `worker` | the thread that makes the passes and the units |

mod fair_queue;
mod queue;
mod step_job;
mod stream_job;
mod worker;

use crate::memory::MemoryPermit;
use crate::metrics::Metrics;
use crate::refusal::Refusal;
use crate::sessions::Peer;
use crate::time_budget::TimeBudget;
use crate::{ServerConfig, StartError, TableEpoch};
use queue::Queue;
use sotto_core::AnySession;
use sotto_wire::{Code, Timing, query};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
pub(crate) use step_job::StepWork;
use step_job::{InterleavedJob, StepJob};
use stream_job::QueuedStream;
pub(crate) use stream_job::{Started, StreamJob};
use tokio::sync::oneshot;

/// How long work beside the passes waits for pauses between them: on a server that has none, a client's first lookup takes so
/// much longer, once.
const PATIENCE: Duration = Duration::from_millis(100);

/// A checked ask. Its frame is exactly as long as its head and the table's parameters say.
pub(crate) struct QueryJob {
    pub(crate) live: Arc<TableEpoch>,
    pub(crate) session: Arc<AnySession>,
    pub(crate) head: query::QueryHead,
    pub(crate) frame: Vec<u8>,
    /// Whose it is.
    pub(crate) peer: Peer,
    /// The memory the frame takes, given back with it: a client that hangs up leaves its ask in the queue.
    pub(crate) _room: MemoryPermit,
    /// The memory that its answers take, until they are sent.
    pub(crate) answer_room: MemoryPermit,
}

/// The answers to an ask, in order, the memory that they take, and where its time went.
pub(crate) struct QueryOutcome {
    pub(crate) answers: Vec<Vec<u8>>,
    pub(crate) room: MemoryPermit,
    pub(crate) timing: Timing,
}

/// What the worker sends back for an ask.
pub(crate) type Reply = Result<QueryOutcome, Refusal>;

/// Limits of queue and passes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SchedulerLimits {
    pub(crate) max_queue: usize,
    /// Requests in steps that may wait.
    pub(crate) max_stepped: usize,
    pub(crate) max_queries: usize,
    pub(crate) max_wait: Duration,
    pub(crate) deadline: Duration,
    /// How long a stream may wait for its client to read.
    pub(crate) stall: Duration,
}

impl SchedulerLimits {
    pub(crate) fn of(config: &ServerConfig) -> Self {
        SchedulerLimits {
            max_queue: config.max_queue,
            max_stepped: config.apple.max_requests,
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
    /// Starts the worker, with a pool of `threads` (0: one per core).
    ///
    /// # Errors
    /// [`StartError::Threads`].
    pub(crate) fn start(
        limits: SchedulerLimits,
        threads: usize,
        budget: Arc<TimeBudget>,
        metrics: Arc<Metrics>,
    ) -> Result<Self, StartError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| format!("sotto-pass-{i}"))
            .build()
            .map_err(|e| StartError::Threads(std::io::Error::other(e)))?;
        let queue = Arc::new(Queue::new(limits, budget.clone(), metrics.clone()));
        let worker = worker::Worker { queue: queue.clone(), pool, budget, metrics };
        let handle = std::thread::Builder::new()
            .name("sotto-batch".into())
            .spawn(move || worker.run())
            .map_err(StartError::Threads)?;
        Ok(Scheduler { queue, worker: Mutex::new(Some(handle)) })
    }

    /// Queues an ask. Dropping the receiver takes it out again, unless its pass has begun.
    ///
    /// # Errors
    /// [`Code::RequestGuard`] if the queue is full and nobody else has more in it, [`Code::ShuttingDown`] after
    /// [`Scheduler::finish`].
    pub(crate) fn submit(&self, ask: QueryJob) -> Result<oneshot::Receiver<Reply>, Code> {
        self.queue.push(ask, Instant::now())
    }

    /// Queues a stream. The receiver gives its units once its query is prepared.
    ///
    /// # Errors
    /// [`Code::ShuttingDown`] after [`Scheduler::finish`].
    pub(crate) fn submit_stream(&self, ask: StreamJob) -> Result<oneshot::Receiver<Started>, Code> {
        let (flow, receiver) = QueuedStream::new(ask, self.queue.clone(), Instant::now());
        self.queue.push_turn(InterleavedJob::Flow(Box::new(flow)))?;
        Ok(receiver)
    }

    /// Queues work in steps.
    ///
    /// # Errors
    /// [`Code::RequestGuard`] if as much waits as may and nobody else has more steps waiting, [`Code::ShuttingDown`] after
    /// [`Scheduler::finish`].
    pub(crate) fn submit_steps(&self, steps: Box<dyn StepWork>) -> Result<(), Code> {
        let stepping = StepJob { steps, since: Instant::now(), has_begun: false };
        self.queue.push_turn(InterleavedJob::Steps(stepping))
    }

    /// What waits, whenever it is called, until no pass is under way: [`PATIENCE`] in all.
    pub(crate) fn wait_until_idle(&self) -> impl FnMut() + 'static {
        let (queue, mut left) = (self.queue.clone(), PATIENCE);
        move || {
            let began = Instant::now();
            queue.wait_until_idle(left);
            left = left.saturating_sub(began.elapsed());
        }
    }

    /// Takes no more asks; the worker answers those queued and ends.
    pub(crate) fn close(&self) {
        self.queue.close();
    }

    /// As [`Scheduler::close`], and waits for the end.
    pub(crate) fn finish(&self) {
        self.close();
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if worker.is_some_and(|worker| worker.join().is_err()) {
            tracing::error!("the batch worker ended in a panic");
        }
    }
}

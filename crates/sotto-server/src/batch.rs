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

mod fair;
mod flow;
mod queue;
mod turn;
mod worker;

use crate::admission::Peer;
use crate::budget::Budget;
use crate::memory::MemoryPermit;
use crate::metrics::Metrics;
use crate::refusal::Refusal;
use crate::{Config, LiveTable, StartError};
use flow::Flow;
pub(crate) use flow::{CheckedStream, Started};
use queue::Queue;
use sotto_core::AnySession;
use sotto_wire::{Code, Timing, ask};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
pub(crate) use turn::Steps;
use turn::{Stepping, Turn};

/// How long work beside the passes waits for pauses between them: on a server that has none, a client's first lookup takes so
/// much longer, once.
const PATIENCE: Duration = Duration::from_millis(100);

/// A checked ask. Its frame is exactly as long as its head and the table's parameters say.
pub(crate) struct CheckedAsk {
    pub(crate) live: Arc<LiveTable>,
    pub(crate) session: Arc<AnySession>,
    pub(crate) head: ask::Head,
    pub(crate) frame: Vec<u8>,
    /// Whose it is.
    pub(crate) peer: Peer,
    /// The memory the frame takes, given back with it: a client that hangs up leaves its ask in the queue.
    pub(crate) _room: MemoryPermit,
    /// The memory that its answers take, until they are sent.
    pub(crate) answer_room: MemoryPermit,
}

/// The answers to an ask, in order, the memory that they take, and where its time went.
pub(crate) struct Answered {
    pub(crate) answers: Vec<Vec<u8>>,
    pub(crate) room: MemoryPermit,
    pub(crate) timing: Timing,
}

/// What the worker sends back for an ask.
pub(crate) type Reply = Result<Answered, Refusal>;

/// Limits of queue and passes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) max_queue: usize,
    /// Requests in steps that may wait.
    pub(crate) max_stepped: usize,
    pub(crate) max_queries: usize,
    pub(crate) max_wait: Duration,
    pub(crate) deadline: Duration,
    /// How long a stream may wait for its client to read.
    pub(crate) stall: Duration,
}

impl Limits {
    pub(crate) fn of(config: &Config) -> Self {
        Limits {
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
pub(crate) struct Batch {
    queue: Arc<Queue>,
    worker: Mutex<Option<JoinHandle<()>>>,
}

impl Batch {
    /// Starts the worker, with a pool of `threads` (0: one per core).
    ///
    /// # Errors
    /// [`StartError::Threads`].
    pub(crate) fn start(
        limits: Limits,
        threads: usize,
        budget: Arc<Budget>,
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
        Ok(Batch { queue, worker: Mutex::new(Some(handle)) })
    }

    /// Queues an ask. Dropping the receiver takes it out again, unless its pass has begun.
    ///
    /// # Errors
    /// [`Code::Busy`] if the queue is full and nobody else has more in it, [`Code::ShuttingDown`] after [`Batch::finish`].
    pub(crate) fn submit(&self, ask: CheckedAsk) -> Result<oneshot::Receiver<Reply>, Code> {
        self.queue.push(ask, Instant::now())
    }

    /// Queues a stream. The receiver gives its units once its query is prepared.
    ///
    /// # Errors
    /// [`Code::ShuttingDown`] after [`Batch::finish`].
    pub(crate) fn flow(&self, ask: CheckedStream) -> Result<oneshot::Receiver<Started>, Code> {
        let (flow, receiver) = Flow::new(ask, self.queue.clone(), Instant::now());
        self.queue.push_turn(Turn::Flow(Box::new(flow)))?;
        Ok(receiver)
    }

    /// Queues work in steps.
    ///
    /// # Errors
    /// [`Code::Busy`] if as much waits as may and nobody else has more steps waiting, [`Code::ShuttingDown`] after
    /// [`Batch::finish`].
    pub(crate) fn steps(&self, steps: Box<dyn Steps>) -> Result<(), Code> {
        let stepping = Stepping { steps, since: Instant::now(), has_begun: false };
        self.queue.push_turn(Turn::Steps(stepping))
    }

    /// What waits, whenever it is called, until no pass is under way: [`PATIENCE`] in all.
    pub(crate) fn lulls(&self) -> impl FnMut() + 'static {
        let (queue, mut left) = (self.queue.clone(), PATIENCE);
        move || {
            let began = Instant::now();
            queue.lull(left);
            left = left.saturating_sub(began.elapsed());
        }
    }

    /// Takes no more asks; the worker answers those queued and ends.
    pub(crate) fn close(&self) {
        self.queue.close();
    }

    /// As [`Batch::close`], and waits for the end.
    pub(crate) fn finish(&self) {
        self.close();
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if worker.is_some_and(|worker| worker.join().is_err()) {
            tracing::error!("the batch worker ended in a panic");
        }
    }
}

//! Hint requests, answered one after the other by a thread of their own: making a hint takes the
//! whole table and seconds, and no query may wait for that.

use crate::client::Peer;
use crate::limits::counts::nanos;
use crate::limits::rate::RateLimit;
use crate::limits::slots::Permit;
use crate::limits::{Limits, TimeBudget};
use crate::locked;
use crate::low_priority::thread_pool;
use crate::metrics::{ByTable, ServerMetrics};
use crate::{ServerConfig, StartError, TableEpoch};
use sotto_core::{Error, ExpectOrDefault};
use sotto_wire::{ProblemCode, hints};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::sync::oneshot;

/// A checked hint request. Its frame is exactly as long as the table's parameters say.
pub(crate) struct HintJob {
    pub(crate) live: Arc<TableEpoch>,
    pub(crate) frame: Vec<u8>,
    /// Address of the client.
    pub(crate) peer: Peer,
    /// Memory of the frame, released with the job.
    pub(crate) _frame_memory: Permit,
    /// Permit among the hint requests, released with the job.
    pub(crate) _open: Permit,
    /// Memory of the hint response, until it is sent.
    pub(crate) response_memory: Permit,
}

/// A hint response with its memory permit, or the reason why there is none.
type Reply = Result<(Vec<u8>, Permit), ProblemCode>;

struct QueuedHintJob {
    job: HintJob,
    reply: oneshot::Sender<Reply>,
}

/// The hint requests that wait, and the thread that answers them.
pub(crate) struct HintQueue {
    queue: Mutex<Option<SyncSender<Box<QueuedHintJob>>>>,
    closed: Arc<AtomicBool>,
}

impl HintQueue {
    /// Starts the thread and its pool.
    ///
    /// # Errors
    /// [`StartError::Threads`].
    pub(crate) fn start(
        config: &ServerConfig,
        limits: &Limits,
        metrics: Arc<ServerMetrics>,
    ) -> Result<Self, StartError> {
        let pool = thread_pool("hints", config.hint_threads, || ())?;
        let (queue, jobs) = mpsc::sync_channel(config.max_hint_requests);
        let closed = Arc::new(AtomicBool::new(false));
        let (time, budget) = (limits.hint_time.clone(), limits.budget.clone());
        let worker = Worker { jobs, pool, time, budget, metrics, closed: closed.clone() };
        std::thread::Builder::new()
            .name("sotto-hints".into())
            .spawn(move || worker.run())
            .map_err(StartError::Threads)?;
        Ok(HintQueue { queue: Mutex::new(Some(queue)), closed })
    }

    /// Queues a hint request. Dropping the receiver removes it, unless its hints are being made.
    ///
    /// # Errors
    /// [`ProblemCode::Busy`] if the queue is full, [`ProblemCode::ShuttingDown`] after [`HintQueue::close`].
    pub(crate) fn submit(&self, job: HintJob) -> Result<oneshot::Receiver<Reply>, ProblemCode> {
        let (reply, receiver) = oneshot::channel();
        let queue = locked(&self.queue);
        match queue.as_ref().map(|queue| queue.try_send(Box::new(QueuedHintJob { job, reply }))) {
            Some(Ok(())) => Ok(receiver),
            Some(Err(mpsc::TrySendError::Full(_))) => Err(ProblemCode::Busy),
            Some(Err(mpsc::TrySendError::Disconnected(_))) | None => Err(ProblemCode::ShuttingDown),
        }
    }

    /// Accepts no more requests, and refuses those that wait. The current one is finished, and
    /// nobody waits for it: a client sends the same request again, here or to a successor.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        locked(&self.queue).take();
    }
}

struct Worker {
    jobs: Receiver<Box<QueuedHintJob>>,
    pool: rayon::ThreadPool,
    time: Arc<RateLimit>,
    budget: Arc<TimeBudget>,
    metrics: Arc<ServerMetrics>,
    closed: Arc<AtomicBool>,
}

impl Worker {
    fn run(self) {
        while let Ok(queued) = self.jobs.recv() {
            let QueuedHintJob { mut job, reply } = *queued;
            if self.closed.load(Ordering::Relaxed) {
                let _ = reply.send(Err(ProblemCode::ShuttingDown));
            } else if reply.is_closed() {
                self.metrics.abandoned_requests.inc();
            } else {
                let start = Instant::now();
                let made = self.make(&job);
                let (took, ended) = (start.elapsed(), Instant::now());
                self.time.add(job.peer, nanos(took), ended);
                self.budget.charge(job.peer, took, ended);
                let memory = job.response_memory.split();
                // The permit is released before the client can send the next request.
                drop(job);
                let _ = reply.send(made.map(|response| (response, memory)));
            }
        }
    }

    /// Makes the hints. A scheme that panics costs this request, not the server.
    fn make(&self, job: &HintJob) -> Result<Vec<u8>, ProblemCode> {
        let live = &job.live;
        let hint_server = live.server().hint_server().ok_or(ProblemCode::Internal)?;
        let payload = job
            .frame
            .get(hints::HEAD_BYTES..)
            .expect_or_default("a frame's length was checked when it was read");
        self.metrics.hint_requests.get_or_create(&ByTable::of(live.catalog().table.as_str())).inc();
        let made =
            catch_unwind(AssertUnwindSafe(|| self.pool.install(|| hint_server.answer_hint_request(payload))));
        live.check()?;
        match made {
            Ok(Ok(response)) if response.len() == hint_server.hint_response_bytes() => Ok(response),
            Ok(Ok(_)) => {
                tracing::error!(table = ?live, "the scheme returned hints of the wrong size");
                Err(ProblemCode::Internal)
            }
            Ok(Err(Error::Peer(_))) => Err(ProblemCode::BadQuery),
            Ok(Err(error)) => {
                tracing::error!(table = ?live, %error, "the scheme could not make hints");
                Err(ProblemCode::Internal)
            }
            Err(_) => {
                tracing::error!(table = ?live, "the scheme panicked; the hint request is refused");
                Err(ProblemCode::Internal)
            }
        }
    }
}

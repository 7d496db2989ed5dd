//! Threads of low priority, which yield to the passes: they expand clients' keys. Most keys are
//! registered by clients that still have others, and whose lookups should not be delayed.
//!
//! Requesters take turns here as they do in the queue of the passes: a job waits for one job of
//! each other requester, however many those have.

use crate::StartError;
use crate::client::Requester;
use crate::locked;
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use tokio::sync::oneshot;

/// Number of threads: few, so that keys do not displace the passes on systems without thread
/// priorities.
const THREADS: usize = 2;

/// Increment of the threads' nice value: when a pass needs the processor too, they get a tenth of
/// its time. When none does, expanding keys takes no longer for it.
#[cfg(target_os = "linux")]
const NICER: i32 = 10;

/// A pool of low-priority threads.
pub struct LowPriorityPool {
    pool: rayon::ThreadPool,
    waiting: Arc<Mutex<JobQueue>>,
}

type Job = Box<dyn FnOnce() + Send>;

/// The waiting jobs, by requester, and the order of turns: each requester in it has a job or more.
#[derive(Default)]
struct JobQueue {
    jobs: HashMap<Requester, VecDeque<Job>>,
    turns: VecDeque<Requester>,
}

impl JobQueue {
    fn push(&mut self, requester: Requester, job: Job) {
        let jobs = self.jobs.entry(requester).or_default();
        if jobs.is_empty() {
            self.turns.push_back(requester);
        }
        jobs.push_back(job);
    }

    /// Takes the oldest job of the requester whose turn it is, and moves that requester to the end.
    fn pop(&mut self) -> Option<Job> {
        let requester = self.turns.pop_front()?;
        let jobs = self.jobs.get_mut(&requester)?;
        let job = jobs.pop_front();
        match jobs.is_empty() {
            true => drop(self.jobs.remove(&requester)),
            false => self.turns.push_back(requester),
        }
        job
    }
}

impl LowPriorityPool {
    /// Starts the threads.
    ///
    /// # Errors
    /// [`StartError::Threads`].
    pub(crate) fn start() -> Result<Self, StartError> {
        Self::of(THREADS, "keys", lower_priority)
    }

    /// Starts `threads` threads for work that waits for the disk most of the time, and needs little
    /// of the processor.
    ///
    /// # Errors
    /// [`StartError::Threads`].
    pub fn waiting(threads: usize, name: &'static str) -> Result<Self, StartError> {
        Self::of(threads, name, || {})
    }

    fn of(threads: usize, name: &'static str, begin: fn()) -> Result<Self, StartError> {
        Ok(LowPriorityPool { pool: thread_pool(name, threads, begin)?, waiting: Arc::default() })
    }

    /// Runs work for a requester, after its earlier work. It is completed even if nobody waits for
    /// it any more. Returns `None` if it panics.
    pub async fn run<T: Send + 'static>(
        &self,
        requester: impl Into<Requester>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (done, outcome) = oneshot::channel();
        let job = move || {
            // Nobody may be waiting for it any more.
            let _ = done.send(catch_unwind(AssertUnwindSafe(work)).ok());
        };
        let waiting = self.waiting.clone();
        locked(&waiting).push(requester.into(), Box::new(job));
        // As many tasks are spawned as there are jobs; each takes the next job when a thread is
        // free.
        self.pool.spawn_fifo(move || {
            let job = locked(&waiting).pop();
            if let Some(job) = job {
                job();
            }
        });
        outcome.await.ok().flatten()
    }
}

/// Starts threads of this name, one per core for 0, which call `begin` first.
pub(crate) fn thread_pool(
    name: &'static str,
    threads: usize,
    begin: fn(),
) -> Result<rayon::ThreadPool, StartError> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(move |i| format!("sotto-{name}-{i}"))
        .start_handler(move |_| begin())
        .build()
        .map_err(|e| StartError::Threads(std::io::Error::other(e)))
}

/// Lowers the priority of this thread. Only Linux has priorities of threads; elsewhere, and where
/// it is not allowed, nothing changes.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    if let Ok(nice) = rustix::process::getpriority_process(None) {
        let _ = rustix::process::setpriority_process(None, nice + NICER);
    }
}

#[cfg(test)]
mod tests {
    use super::LowPriorityPool;
    use crate::client::Requester::Token;
    use std::sync::{Arc, Mutex};

    #[test]
    fn a_requester_of_many_jobs_holds_no_other_up() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let aside = Arc::new(LowPriorityPool::waiting(1, "test").unwrap());
        let (hold, held) = std::sync::mpsc::channel::<()>();
        let (begin, begun) = std::sync::mpsc::channel();
        let order = Arc::new(Mutex::new(Vec::new()));
        let job = |who: u64| {
            let (aside, order) = (aside.clone(), order.clone());
            async move { aside.run(Token(who), move || order.lock().unwrap().push(who)).await }
        };
        runtime.block_on(async {
            let first = tokio::spawn({
                let aside = aside.clone();
                async move { aside.run(Token(1), move || begin.send(()).is_ok() && held.recv().is_ok()).await }
            });
            tokio::task::yield_now().await;
            begun.recv().unwrap();
            let many: Vec<_> = [1, 1, 1, 1, 2, 3, 2].map(|who| tokio::spawn(job(who))).into();
            tokio::task::yield_now().await;
            hold.send(()).unwrap();
            assert_eq!(first.await.unwrap(), Some(true));
            for one in many {
                one.await.unwrap().unwrap();
            }
        });
        assert_eq!(*order.lock().unwrap(), [1, 2, 3, 1, 2, 1, 1]);
    }

    #[test]
    fn a_panic_costs_the_work_and_not_the_threads() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let aside = LowPriorityPool::start().unwrap();
        for _ in 0..4 {
            assert_eq!(runtime.block_on(aside.run(Token(0), || -> u8 { panic!("of a scheme") })), None);
        }
        assert_eq!(runtime.block_on(aside.run(Token(0), || 7)), Some(7));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn its_threads_are_nicer_than_others() {
        let nice = || rustix::process::getpriority_process(None).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let aside = LowPriorityPool::start().unwrap();
        let (before, there) = (nice(), runtime.block_on(aside.run(Token(0), nice)).unwrap());
        assert_eq!((nice(), there), (before, (before + super::NICER).min(19)));
    }
}

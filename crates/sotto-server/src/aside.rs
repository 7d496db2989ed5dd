//! Threads whose work gives way to the passes: they expand clients' keys. Most are registered by clients that have others still,
//! and whose lookups should not feel it.

use crate::StartError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tokio::sync::oneshot;

/// Few, so that keys do not crowd out the passes where threads cannot give way either.
const THREADS: usize = 2;

/// How much less they get where a pass wants the processor too: a tenth. Where none does, keys take no longer for it.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// A pool of such threads.
pub(crate) struct Aside(rayon::ThreadPool);

impl Aside {
    /// Starts the threads.
    ///
    /// # Errors
    /// [`StartError::Threads`].
    pub(crate) fn start() -> Result<Self, StartError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(THREADS)
            .thread_name(|i| format!("sotto-keys-{i}"))
            .start_handler(|_| give_way())
            .build()
            .map_err(|e| StartError::Threads(std::io::Error::other(e)))?;
        Ok(Aside(pool))
    }

    /// Does something, after all that was to be done before. It is done to its end, also if nobody waits for it any more.
    /// `None` if it panics.
    pub(crate) async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let (done, outcome) = oneshot::channel();
        self.0.spawn_fifo(move || {
            // Nobody may wait for it any more.
            let _ = done.send(catch_unwind(AssertUnwindSafe(work)).ok());
        });
        outcome.await.ok().flatten()
    }
}

/// Only Linux knows it of threads; elsewhere, and where it is not allowed, all goes on as it is.
fn give_way() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, NICE);
}

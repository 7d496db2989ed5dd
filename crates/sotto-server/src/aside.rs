//! Threads whose work gives way to the passes: they expand clients' keys. Most are registered by clients that have others still,
//! and whose lookups should not feel it.

use crate::StartError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tokio::sync::oneshot;

/// Few, so that keys do not crowd out the passes where threads cannot give way either.
const THREADS: usize = 2;

/// By how much they are nicer: where a pass wants the processor too, they get a tenth of what it does. Where none does, keys take
/// no longer for it.
#[cfg(target_os = "linux")]
const NICER: i32 = 10;

/// A pool of such threads.
pub(crate) struct Aside(rayon::ThreadPool);

impl Aside {
    /// Starts the threads.
    ///
    /// # Errors
    /// [`StartError::Threads`].
    pub(crate) fn start() -> Result<Self, StartError> {
        Self::of(THREADS, "keys", give_way)
    }

    /// So many threads for work that waits for the disk most of the time, and takes little of the processor.
    ///
    /// # Errors
    /// [`StartError::Threads`].
    pub(crate) fn waiting(threads: usize, name: &'static str) -> Result<Self, StartError> {
        Self::of(threads, name, || {})
    }

    fn of(threads: usize, name: &'static str, begin: fn()) -> Result<Self, StartError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(move |i| format!("sotto-{name}-{i}"))
            .start_handler(move |_| begin())
            .build()
            .map_err(|e| StartError::Threads(std::io::Error::other(e)))?;
        Ok(Aside(pool))
    }

    /// Does something, after all that was to be done before. It is done to its end, also if nobody waits for it any more.
    /// `None` if it panics.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
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
    if let Ok(nice) = rustix::process::getpriority_process(None) {
        let _ = rustix::process::setpriority_process(None, nice + NICER);
    }
}

#[cfg(test)]
mod tests {
    use super::Aside;

    #[test]
    fn a_panic_costs_the_work_and_not_the_threads() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let aside = Aside::start().unwrap();
        for _ in 0..4 {
            assert_eq!(runtime.block_on(aside.run(|| -> u8 { panic!("of a scheme") })), None);
        }
        assert_eq!(runtime.block_on(aside.run(|| 7)), Some(7));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn its_threads_are_nicer_than_others() {
        let nice = || rustix::process::getpriority_process(None).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let aside = Aside::start().unwrap();
        let (before, there) = (nice(), runtime.block_on(aside.run(nice)).unwrap());
        assert_eq!((nice(), there), (before, (before + super::NICER).min(19)));
    }
}

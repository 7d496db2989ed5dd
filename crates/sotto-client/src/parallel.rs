//! Work that is done at the same time, and waiting: where there are threads. In a browser's worker there are none, so one thing
//! is done after the other.

use std::time::Duration;

/// Whether there are threads.
pub(crate) const THREADS: bool = cfg!(not(all(target_arch = "wasm32", target_os = "unknown")));

/// Does all of it at the same time, the first here and each other in a thread of its own. Gives what came of it, in the same
/// order, once the last is done.
#[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
pub(crate) fn run_all<T: Send>(work: impl IntoIterator<Item = impl FnOnce() -> T + Send>) -> Vec<T> {
    std::thread::scope(|scope| {
        let mut work = work.into_iter();
        let first = work.next();
        let others: Vec<_> = work.map(|work| scope.spawn(work)).collect();
        let first = first.map(|work| work());
        // What panics does so here as it would have done without a thread of its own.
        let joined = others
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        first.into_iter().chain(joined).collect()
    })
}

/// Does one after the other, all of them whatever comes of any.
#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
pub(crate) fn run_all<T>(work: impl IntoIterator<Item = impl FnOnce() -> T>) -> Vec<T> {
    work.into_iter().map(|work| work()).collect()
}

/// Waits.
pub(crate) fn pause(time: Duration) {
    #[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
    std::thread::sleep(time);
    #[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
    crate::files::pause(time);
}

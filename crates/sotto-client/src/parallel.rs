//! Concurrent work and waiting, on platforms with threads. A browser's worker has none, so work is
//! done sequentially there.

use std::time::Duration;

/// Whether the platform has threads.
pub(crate) const THREADS: bool = cfg!(not(all(target_arch = "wasm32", target_os = "unknown")));

/// Runs all closures at the same time, the first on this thread and each other on a thread of its
/// own. Returns their results in the same order, once the last has ended.
#[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
pub(crate) fn run_all<T: Send>(work: impl IntoIterator<Item = impl FnOnce() -> T + Send>) -> Vec<T> {
    std::thread::scope(|scope| {
        let mut work = work.into_iter();
        let first = work.next();
        let others: Vec<_> = work.map(|work| scope.spawn(work)).collect();
        let first = first.map(|work| work());
        // A panic of a thread continues here, as it would without a thread.
        let joined = others
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        first.into_iter().chain(joined).collect()
    })
}

/// Runs all closures one after the other, whatever any of them returns.
#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
pub(crate) fn run_all<T>(work: impl IntoIterator<Item = impl FnOnce() -> T>) -> Vec<T> {
    work.into_iter().map(|work| work()).collect()
}

/// Blocks for `time`.
pub(crate) fn pause(time: Duration) {
    #[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
    std::thread::sleep(time);
    #[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
    crate::files::pause(time);
}

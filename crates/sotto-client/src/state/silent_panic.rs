//! Catching panics that are reported as errors, without the output of the panic hook.

use std::cell::Cell;
use std::panic;
use std::sync::Once;

thread_local! {
    /// Number of callers on this thread that suppress the hook's output.
    static QUIET: Cell<u32> = const { Cell::new(0) };
}

/// Runs `operation`, and suppresses the hook's output for a panic on this thread. Other threads are
/// not affected.
pub(crate) fn silence_panics<T>(operation: impl FnOnce() -> T) -> T {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if QUIET.get() == 0 {
                usual(info);
            }
        }));
    });
    QUIET.set(QUIET.get() + 1);
    let _loud_again = PanicHookGuard;
    operation()
}

/// Ends the suppression, also while unwinding.
struct PanicHookGuard;

impl Drop for PanicHookGuard {
    fn drop(&mut self) {
        QUIET.set(QUIET.get() - 1);
    }
}

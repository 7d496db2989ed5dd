//! Panics that are caught and said in other words: nobody else has to read of them.

use std::cell::Cell;
use std::panic;
use std::sync::Once;

thread_local! {
    /// How many callers on this thread want quiet.
    static QUIET: Cell<u32> = const { Cell::new(0) };
}

/// Runs `operation`, during which a panic of this thread prints nothing. Others print what they always did.
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

/// Ends the quiet, also for whoever unwinds.
struct PanicHookGuard;

impl Drop for PanicHookGuard {
    fn drop(&mut self) {
        QUIET.set(QUIET.get() - 1);
    }
}

//! A thread that takes a processor only where nobody else wants it.

/// How much less: the scheduler gives one of 0 ten times as much.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// Gives way to other threads from here on, those of this process included. Only Linux knows it of threads; elsewhere, and where
/// it is not allowed, all goes on as it is.
pub(super) fn give_way() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, NICE);
}

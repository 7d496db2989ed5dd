//! Memory growth of this process, as Linux reports it. On other systems the answers are `None` and
//! the report shows a dash.

use sotto_pages::memory::{peak_resident, resident};
use std::fs;

/// Watches memory growth since the watch began.
pub(crate) struct PeakMemory(Option<u64>);

impl PeakMemory {
    /// Begins a watch.
    pub(crate) fn watch() -> Self {
        // "5" resets the high-water mark (proc_pid_clear_refs(5)). Where that is forbidden an older, higher
        // mark would be read as this watch's, so there is no watch at all.
        let reset = fs::write("/proc/self/clear_refs", "5").is_ok();
        PeakMemory(if reset { resident() } else { None })
    }

    /// The maximum growth since the watch began.
    pub(crate) fn growth(&self) -> Option<u64> {
        Some(peak_resident()?.saturating_sub(self.0?))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_touched_and_freed_is_seen_by_the_watch() {
        // Other tests of this process take memory, release it and begin watches meanwhile, so one
        // attempt may miss it; all do not.
        let look = || {
            let peak = PeakMemory::watch();
            drop(std::hint::black_box(vec![1u8; 64 << 20]));
            peak.growth()
        };
        let mut seen = Vec::new();
        for _ in 0..100 {
            match look() {
                Some(growth) if growth < 48 << 20 => seen.push(growth),
                _ => return,
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        panic!("64 MiB are not visible: {seen:?}");
    }
}

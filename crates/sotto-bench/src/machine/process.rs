//! This process's memory, as Linux tells it. Elsewhere the answers are `None` and the report shows a dash.

use std::fs;

/// Bytes of physical memory this process holds now, mapped files included.
pub(crate) fn resident_memory() -> Option<u64> {
    kilobytes("/proc/self/status", "VmRSS:")
}

/// Bytes the system could still give out without swapping.
pub(crate) fn available_memory() -> Option<u64> {
    kilobytes("/proc/meminfo", "MemAvailable:")
}

pub(super) fn total_memory() -> Option<u64> {
    kilobytes("/proc/meminfo", "MemTotal:")
}

/// Watches how far memory grows above what was held when the watch began.
pub(crate) struct Peak(Option<u64>);

impl Peak {
    /// Begins a watch.
    pub(crate) fn watch() -> Self {
        // "5" resets the high-water mark (proc_pid_clear_refs(5)). Where that is forbidden an older, higher
        // mark would be read as this watch's, so there is no watch at all.
        let reset = fs::write("/proc/self/clear_refs", "5").is_ok();
        Peak(if reset { resident_memory() } else { None })
    }

    /// The growth since, at its highest.
    pub(crate) fn growth(&self) -> Option<u64> {
        Some(kilobytes("/proc/self/status", "VmHWM:")?.saturating_sub(self.0?))
    }
}

fn kilobytes(path: &str, field: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(field))?;
    let number: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(number * 1024)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_touched_and_freed_is_seen_by_the_watch() {
        let Some(held) = resident_memory() else { return };
        assert!(held > 0 && Some(held) < total_memory());
        let peak = Peak::watch();
        let block = std::hint::black_box(vec![1u8; 64 << 20]);
        drop(block);
        if let Some(growth) = peak.growth() {
            assert!(growth >= 48 << 20, "{growth}");
        }
    }
}

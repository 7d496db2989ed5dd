//! The size of the machine's memory, and whether it has huge pages. Only Linux reports these.

use std::fs;

/// Bytes that the system could still allocate without swapping.
pub fn available() -> Option<u64> {
    kilobytes("/proc/meminfo", "MemAvailable:")
}

/// Bytes of memory of the machine.
pub fn total() -> Option<u64> {
    kilobytes("/proc/meminfo", "MemTotal:")
}

/// Bytes of memory of this process now, mapped files included.
pub fn resident() -> Option<u64> {
    kilobytes("/proc/self/status", "VmRSS:")
}

/// Peak number of bytes of memory of this process, mapped files included.
pub fn peak_resident() -> Option<u64> {
    kilobytes("/proc/self/status", "VmHWM:")
}

/// Whether anonymous memory that requests huge pages may get them.
pub fn has_huge_pages() -> bool {
    let setting = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    setting.is_ok_and(|setting| setting.contains("[always]") || setting.contains("[madvise]"))
}

fn kilobytes(path: &str, field: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(field))?;
    let number: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    number.checked_mul(1024)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn resident_memory_is_less_than_physical_memory() {
        let Some(now) = resident() else { return };
        assert!(now > 0 && Some(now) <= peak_resident() && Some(now) < total() && available() < total());
        assert_eq!(kilobytes("/proc/self/status", "NoSuchField:"), None);
        assert_eq!(kilobytes("/no/such/file", "VmRSS:"), None);
    }
}

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

/// Bytes of memory that this process holds now, mapped files included.
pub fn resident() -> Option<u64> {
    kilobytes("/proc/self/status", "VmRSS:")
}

/// Largest number of bytes of memory that this process has held, mapped files included.
pub fn most_resident() -> Option<u64> {
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
    fn what_is_held_is_less_than_there_is() {
        let Some(held) = resident() else { return };
        assert!(held > 0 && Some(held) <= most_resident() && Some(held) < total() && available() < total());
        assert_eq!(kilobytes("/proc/self/status", "NoSuchField:"), None);
        assert_eq!(kilobytes("/no/such/file", "VmRSS:"), None);
    }
}

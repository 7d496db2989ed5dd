//! The pages that memory is on, as Linux reports them in `/proc/self/smaps`.

use std::fmt;
use std::fs;

/// The sizes of the pages behind a range of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PageUsage {
    /// Bytes of the range.
    pub bytes: u64,
    /// Bytes of the range that are in physical memory and mapped here; pages that were never
    /// touched are not.
    pub resident: u64,
    /// Bytes of the range that are on huge pages.
    pub huge: u64,
}

/// The kind of pages that memory is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageKind {
    /// At least nine tenths are on huge pages.
    Huge,
    /// Some memory is on huge pages: the share in percent.
    Mixed(u8),
    /// At most a tenth is on huge pages.
    Small,
}

impl PageUsage {
    /// The share of the resident bytes that are on huge pages; `None` if no byte is resident.
    pub fn huge_share(&self) -> Option<f64> {
        (self.resident > 0).then(|| self.huge.min(self.resident) as f64 / self.resident as f64)
    }

    /// The kind of pages that the resident bytes are on; `None` if no byte is resident.
    pub fn kind(&self) -> Option<PageKind> {
        self.huge_share().map(PageKind::of)
    }
}

impl PageKind {
    /// Classifies memory by the share of it that is on huge pages.
    pub fn of(share: f64) -> Self {
        match share {
            share if share >= 0.9 => PageKind::Huge,
            share if share > 0.1 => PageKind::Mixed((share * 100.0) as u8),
            _ => PageKind::Small,
        }
    }
}

impl PageKind {
    /// The kind as one word for a column: `huge`, `small`, or the share that is huge.
    pub fn word(&self) -> String {
        match self {
            PageKind::Mixed(percent) => format!("{percent} %"),
            kind => kind.to_string(),
        }
    }
}

impl fmt::Display for PageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PageKind::Huge => f.pad("huge"),
            PageKind::Mixed(percent) => f.pad(&format!("{percent} % huge")),
            PageKind::Small => f.pad("small"),
        }
    }
}

/// Finds the pages behind `bytes`; `None` where the system does not report them.
pub fn pages_of(bytes: &[u8]) -> Option<PageUsage> {
    let text = fs::read("/proc/self/smaps").ok()?;
    read(&String::from_utf8_lossy(&text), bytes.as_ptr().addr() as u64, bytes.len() as u64)
}

/// Finds the pages behind `bytes` bytes from address `start` on, in a text in the format of
/// `smaps`. A mapping that extends past the range counts in proportion. `None` if no mapping
/// overlaps the range.
pub fn read(text: &str, start: u64, bytes: u64) -> Option<PageUsage> {
    let end = start.checked_add(bytes)?;
    let mut found: Option<PageUsage> = None;
    // Of the current mapping: all its bytes, and those within the range.
    let (mut all, mut within) = (0, 0);
    for line in text.lines() {
        if let Some((from, to)) = mapping(line) {
            all = to - from;
            within = to.min(end).saturating_sub(from.max(start));
            if within > 0 {
                found.get_or_insert(PageUsage { bytes, ..PageUsage::default() });
            }
            continue;
        }
        let Some(pages) = found.as_mut().filter(|_| within > 0) else { continue };
        let Some((name, counted)) = field(line) else { continue };
        let counted = (u128::from(counted) * u128::from(within) / u128::from(all)) as u64;
        match name {
            "Rss" => pages.resident = pages.resident.saturating_add(counted),
            "AnonHugePages" | "ShmemPmdMapped" | "FilePmdMapped" => {
                pages.huge = pages.huge.saturating_add(counted);
            }
            _ => {}
        }
    }
    found
}

/// Parses the first line of a mapping, `7f00-8f00 r--s ...`, to its addresses. The range is not
/// empty.
fn mapping(line: &str) -> Option<(u64, u64)> {
    let (from, to) = line.split_whitespace().next()?.split_once('-')?;
    let (from, to) = (u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?);
    (from < to).then_some((from, to))
}

/// Parses a line such as `Rss:   12 kB` to its name and bytes, which are at most the number of
/// addresses.
fn field(line: &str) -> Option<(&str, u64)> {
    let (name, rest) = line.split_once(':')?;
    let (number, unit) = rest.trim().split_once(' ')?;
    let bytes = number.parse::<u64>().ok()?.saturating_mul(1024);
    (unit.trim() == "kB").then_some((name, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
        10000-20000 r--s 00000000 fe:00 12 /a/table.sotto\nSize: 64 kB\nRss:                  32 kB\nPss: 9 kB\n\
        AnonHugePages:         0 kB\nShmemPmdMapped: 0 kB\nFilePmdMapped:        16 kB\nVmFlags: rd sh\n\
        20000-40000 rw-p 00000000 00:00 0\nRss: 128 kB\nAnonHugePages: 128 kB\nFilePmdMapped: 0 kB\n";

    #[test]
    fn mappings_are_found_and_shared_out() {
        let kib = |bytes: u64, resident: u64, huge: u64| {
            Some(PageUsage { bytes: bytes << 10, resident: resident << 10, huge: huge << 10 })
        };
        assert_eq!(read(TEXT, 0x10000, 64 << 10), kib(64, 32, 16));
        assert_eq!(read(TEXT, 0x20000, 128 << 10), kib(128, 128, 128));
        // Half of a mapping, and a range that covers parts of two.
        assert_eq!(read(TEXT, 0x18000, 32 << 10), kib(32, 16, 8));
        assert_eq!(read(TEXT, 0x18000, 64 << 10), kib(64, 48, 40));
        for (start, bytes) in [(0, 0x10000), (0x40000, 1), (0x10000, 0), (u64::MAX, 1)] {
            assert_eq!(read(TEXT, start, bytes), None, "{start:x}");
        }
    }

    #[test]
    fn hostile_texts_are_read_to_the_end() {
        let wild = [
            "",
            "\n\n:::\n-",
            "Rss: 12 kB\n",
            "0-10 r\nRss: 99999999999999999999999 kB\nRss: -1 kB\nRss: 4 MB\nRss: 4kB\nRss:\nRss",
            "20-10 backwards\nRss: 4 kB",
            "10-10 empty\nRss: 4 kB",
            "zz-10 r\nRss: 4 kB\n0-zz r\n0-\n-0\n0-10-20 r",
            "0-fffffffffffffffffffff too long\nRss: 1 kB",
        ];
        for text in wild {
            let pages = read(text, 0, 16).unwrap_or_default();
            assert_eq!((pages.resident, pages.huge, pages.huge_share()), (0, 0, None), "{text}");
        }
        // The largest possible values, repeated.
        let text = format!("0-ffffffffffffffff r\n{}", "Rss: 18446744073709551615 kB\n".repeat(9));
        assert_eq!(read(&text, 0, u64::MAX).unwrap().resident, u64::MAX);
        // More huge pages than pages still count as all of them.
        let odd = PageUsage { bytes: 9, resident: 4096, huge: 8192 };
        assert_eq!((odd.huge_share(), odd.kind()), (Some(1.0), Some(PageKind::Huge)));
    }

    #[test]
    fn kinds_have_names() {
        let names = [(0.0, "small"), (0.1, "small"), (0.375, "37 % huge"), (0.9, "huge"), (1.0, "huge")];
        for (share, name) in names {
            assert_eq!(PageKind::of(share).to_string(), name);
            assert!(PageKind::of(share).word().len() <= 5 && name.starts_with(&PageKind::of(share).word()));
        }
    }
}

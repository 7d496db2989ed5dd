//! What the system reports of memory that was written to. The test is alone in its process, since
//! the kernel would merge adjacent mappings of other tests with its own.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use sotto_pages::{HugeBuffer, memory, pages_of};

#[test]
fn memory_that_was_written_to_is_resident() {
    let bytes = 8 << 20;
    let mut buffer = HugeBuffer::zeroed(bytes).unwrap();
    buffer.fill(1);
    let Some(pages) = pages_of(&buffer) else { return };
    assert_eq!(pages.bytes, bytes as u64);
    assert!(pages.resident >= bytes as u64 * 9 / 10 && pages.huge <= pages.resident, "{pages:?}");
    assert!(pages.huge == 0 || memory::has_huge_pages());
}

//! What the system says of memory that was written to. Alone in its process, since mappings of other tests that lie beside it
//! would be one with it, and shared out.
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

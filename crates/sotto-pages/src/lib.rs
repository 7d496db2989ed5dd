//! Memory on huge pages, and the kind of pages that memory is on.
//!
//! ```
//! use sotto_pages::HugeBuffer;
//!
//! // A copy of a table's bytes, on huge pages where the system grants them.
//! let table = HugeBuffer::of(&[7; 4096])?;
//! assert_eq!((table.len(), table[4095]), (4096, 7));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`buffer`] | anonymous memory that requests huge pages |
//! | [`words`] | a list of words in such memory |
//! | [`smaps`] | the pages that memory is on, as Linux reports them |
//! | [`memory`] | the size of the memory, and whether it has huge pages |
//!
//! This crate knows only bytes and addresses. On systems other than Linux, questions have no answer
//! and huge pages are not granted.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod buffer;
pub mod memory;
pub mod smaps;
pub mod words;

pub use buffer::HugeBuffer;
pub use smaps::{PageKind, PageUsage, pages_of};
pub use words::HugeWords;

/// Bytes of a huge page, on x86-64 and on most others.
pub const HUGE_PAGE: u64 = 2 << 20;

//! Memory on huge pages, and which pages a piece of memory lies on.
//!
//! | module | what lives there |
//! |---|---|
//! | [`buffer`] | anonymous memory that asks for huge pages |
//! | [`words`] | a list of words in such memory |
//! | [`smaps`] | which pages memory lies on, as Linux tells it |
//! | [`memory`] | how much memory there is, and whether it comes in huge pages |
//!
//! Bytes and addresses are all that is known here. Elsewhere than on Linux questions have no answer, and wishes are not granted.
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

//! Messages as bytes, the example of RFC 9458, and what is refused.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

mod binary;
mod ring;
mod sealed;

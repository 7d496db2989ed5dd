//! Tests of messages as bytes, the example of RFC 9458, and refused messages.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

mod binary;
mod ring;
mod sealed;

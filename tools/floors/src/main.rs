//! Fails when a dependency edge points upward.
#![forbid(unsafe_code)]
fn main() {}

//! The sotto command.
#![forbid(unsafe_code)]
fn main() {}

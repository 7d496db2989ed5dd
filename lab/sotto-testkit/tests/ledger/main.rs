//! The pages of the ability ledger that concern no single crate.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

mod api;
mod bindings;
mod pages;
mod schemes;
mod texts;

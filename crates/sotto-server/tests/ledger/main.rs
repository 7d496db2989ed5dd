//! The server's pages of the ability ledger.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

mod config;
mod metrics;
mod routes;

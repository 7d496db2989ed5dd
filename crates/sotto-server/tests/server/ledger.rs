//! The server's pages of the ability ledger.

mod config;
mod metrics;
mod routes;

//! The server from outside: raw HTTP against a server in this process.
//!
//! | module | tests |
//! |---|---|
//! | `harness` | tables without crypto, a scheme that can be paused, a small HTTP client |
//! | `accelerators` | passes that an accelerator makes: the processor's bytes, whatever happens to it |
//! | `queries` | queries are answered, bad ones and those for other roles are refused with the right code |
//! | `documents` | lists, catalogs, artifacts and their ranges, logs of catalogs |
//! | `batching` | queries are merged; panic, clients that hang up |
//! | `epochs` | swaps, stale epochs, bad images; a table in parts |
//! | `evaluations` | symmetric tables: proofs, quotas, restarts |
//! | `operator` | the address of operators: no web page is obeyed, nothing is ready before its tables are open; shutdown; the files of `deploy/` |
//! | `hint_requests` | hints are made by the server whose role it is, and delay no query |
//! | `page` | a page for browsers: its files and no others, its security headers; pages of other origins |
//! | `rows` | rows by range, and deltas over old epochs |
//! | `sessions` | keys are registered, expire, are evicted |
//! | `shares` | the share of one client in a server that others query too |
//! | `streams` | records in units: sent as they are made, between the passes, as fast as clients read |
//! | `transport` | HTTP/2, TLS, slow clients |
//! | `unread` | requests that do not arrive and answers that are not read: what they hold, and for how long |
//! | `files` | a real scheme from a real table directory |
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

mod accelerators;
mod batching;
mod documents;
mod epochs;
mod evaluations;
mod files;
mod harness;
mod hint_requests;
mod operator;
mod page;
mod queries;
mod rows;
mod sessions;
#[cfg(target_os = "linux")]
mod shares;
mod streams;
mod transport;
mod unread;

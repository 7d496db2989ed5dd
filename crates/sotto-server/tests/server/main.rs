//! The server from outside: raw HTTP against a server in this process.
//!
//! | module | tests |
//! |---|---|
//! | `harness` | tables without crypto, a scheme that can be paused, a small HTTP client |
//! | `queries` | queries are answered, bad ones are refused with the right code |
//! | `documents` | lists, catalogs, artifacts and their ranges |
//! | `batching` | queries are merged; full queue, deadline, panic, clients that hang up |
//! | `deploy` | the files of `deploy/`: settings and metrics |
//! | `epochs` | swaps, stale epochs, bad images |
//! | `evaluations` | symmetric tables: proofs, quotas, restarts |
//! | `logs` | logs of catalogs: their files and no others, proofs, growth |
//! | `operator` | the address of operators: no web page is obeyed, and nothing is ready before its tables are open |
//! | `hint_requests` | hints are made by the server whose role it is, and delay no query |
//! | `origins` | web pages of other origins |
//! | `page` | a page for browsers: its files and no others, and its security headers |
//! | `parts` | a table in parts: the same answers, and none with a part missing |
//! | `roles` | the role of a server in its scheme: frames for other roles are refused |
//! | `rows` | rows by range, and deltas over old epochs |
//! | `sessions` | keys are registered, expire, are evicted |
//! | `shares` | the share of one client in a server that others query too |
//! | `streams` | records in units: sent as they are made, between the passes, as fast as clients read |
//! | `stopping` | graceful shutdown, ports in use |
//! | `transport` | HTTP/2, TLS, slow clients |
//! | `unread` | requests that do not arrive and answers that are not read: what they hold, and for how long |
//! | `files` | a real scheme from a real table directory |
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

mod batching;
mod deploy;
mod documents;
mod epochs;
mod evaluations;
mod files;
mod harness;
mod hint_requests;
mod logs;
mod operator;
mod origins;
mod page;
mod parts;
mod queries;
mod roles;
mod rows;
mod sessions;
#[cfg(target_os = "linux")]
mod shares;
mod stopping;
mod streams;
mod transport;
mod unread;

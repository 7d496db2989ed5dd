//! The server from outside: raw HTTP against a server in this process.
//!
//! | module | what it shows |
//! |---|---|
//! | `kit` | tables without crypto, a scheme that can be held up, a small HTTP client |
//! | `apple` | Apple's private lookups: recorded sessions, restarts, changes, hostile requests |
//! | `asking` | questions are answered, bad ones are refused with the right code |
//! | `reading` | lists, catalogs, artifacts and their ranges |
//! | `batching` | asks are merged; full queue, deadline, panic, clients that hang up |
//! | `epochs` | swaps, stale epochs, bad images |
//! | `logs` | logs of catalogs: their files and no others, proofs, growth |
//! | `ohttp` | requests that a relay passes on (feature `ohttp`) |
//! | `operator` | the address of operators: no web page is obeyed, and nothing is ready before its tables are open |
//! | `orders` | hints are made by the server whose role it is, and delay no ask |
//! | `page` | a page for browsers: its files and no others, and what a browser may do with them |
//! | `parts` | a table in parts: the same answers, and none with a part missing |
//! | `roles` | which of a scheme's servers it is: others' frames are refused |
//! | `rows` | rows by range, and the way over old epochs |
//! | `sessions` | keys are registered, expire, are evicted |
//! | `shares` | what one client gets of a server that others ask too |
//! | `streams` | records in units: sent as they are made, between the passes, as fast as clients read |
//! | `stopping` | graceful shutdown, ports in use |
//! | `transport` | HTTP/2, TLS, slow clients |
//! | `unread` | requests that do not come and answers that are not read: what they hold, and for how long |
//! | `files` | a real scheme from a real table directory |
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

mod apple;
mod asking;
mod batching;
mod deploy;
mod epochs;
mod evaluations;
mod files;
mod kit;
mod logs;
#[cfg(feature = "ohttp")]
mod ohttp;
mod operator;
mod orders;
mod origins;
mod page;
mod parts;
mod reading;
mod roles;
mod rows;
mod sessions;
#[cfg(target_os = "linux")]
mod shares;
mod stopping;
mod streams;
mod transport;
mod unread;

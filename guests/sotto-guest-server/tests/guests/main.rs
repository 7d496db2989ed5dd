//! Guest protocols from outside: raw HTTP against a server in this process.
//!
//! | module | tests |
//! |---|---|
//! | `harness` | that of `sotto-server`: tables without crypto, a scheme that can be paused, a small HTTP client |
//! | `use_case` | use cases in files, and a client of one, with a user's name |
//! | `changes` | restarts, newer tables, retired configurations |
//! | `config` | the settings in the configuration file, and in its example |
//! | `hostile` | refusals of hostile requests; other users are unharmed |
//! | `ledger` | the server's pages of the ability ledger |
//! | `ohttp` | requests that a relay passes on (feature `ohttp`) |
//! | `requests` | a whole session of Apple's own client, to the last byte; what newer systems send |
//! | `symmetric` | rows that an evaluation opens, and the quota of evaluations |
//! | `tokens` | tokens that requests bring |
//! | `turns` | turns and limits by address |
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

mod changes;
mod config;
#[allow(dead_code, unused_imports, reason = "the tests of the server use all of it")]
#[path = "../../../../crates/sotto-server/tests/server/harness/mod.rs"]
mod harness;
mod hostile;
mod ledger;
#[cfg(feature = "ohttp")]
mod ohttp;
mod requests;
mod symmetric;
mod tokens;
#[cfg(target_os = "linux")]
mod turns;
mod use_case;

//! The command from outside: a real process, real files, real sockets. What servers, clients and
//! tables guarantee is shown by the suites of their crates; here each verb and each exit code is.
//!
//! | module | what it shows |
//! |---|---|
//! | [`harness`] | running the command, and a server next to it |
//! | [`relay`] | a proxy that records requests |
//! | [`quickstart`] | encode, serve, get, update, get again, inspect |
//! | [`encode`] | bad source files, tables in parts, plans, folders of every kind of table |
//! | [`updates`] | changes of tables, and keyword tables |
//! | [`batch`] | several rows, bits, or values of several keys, in one round |
//! | `cards` | passes on a graphics card (feature `gpu`) |
//! | [`schemes`] | variants, streams, two servers, symmetric tables |
//! | [`state`] | durable state: from call to call, copied, and of two servers |
//! | [`silence`] | traffic does not depend on what is looked up |
//! | [`codes`] | each exit code, errors as JSON, and faults |
//! | [`operations`] | rotation of signing keys, backup and restore |
//! | [`http2`] | HTTP/2 abused with frames made by hand: bounds on memory, open files and time |
//! | [`doctor`] | planted problems are found |
//! | [`merkle`] | proofs from a transparency log, built, served, grown and verified |
//! | [`witnessed`] | publisher logs: a witness, and publishers that equivocate |
//! | [`apple`] | Apple's lookups, as an operator tries them |
//! | [`tokens`] | tokens of Privacy Pass, fetched ahead of their use |
//! | [`shards`] | a hostile server of Apple's lookups, and what it may learn of a key |
//! | `oblivious` | lookups through a relay, which reads nothing (feature `ohttp`) |
//! | [`lab`] | `bench`, `demo`, `leakage`, `self-test` |
//! | [`documents`] | runs every command of the README, the guides and the cookbook; the plot of schemes |
//! | [`first_lookup`] | the example of the README, from Rust |
//! | [`schemas`] | what all of these print as JSON fits its schema |
//! | [`json_keys`] | the ledger's page of what verbs print with `--json` |

// Clippy knows tests by their attribute, and what they share has none.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod apple;
mod batch;
#[cfg(feature = "gpu")]
mod cards;
mod codes;
mod doctor;
mod documents;
mod encode;
#[path = "../../../../examples/first-lookup/src/main.rs"]
#[allow(dead_code, reason = "its `main` is for whoever runs it alone")]
mod first_lookup;
mod harness;
mod http2;
mod json_keys;
mod lab;
mod merkle;
#[cfg(feature = "ohttp")]
mod oblivious;
mod operations;
mod quickstart;
mod relay;
mod schemas;
mod schemes;
mod shards;
mod silence;
mod state;
mod tokens;
mod updates;
mod witnessed;

//! The command from outside: a real process, real files, real sockets.
//!
//! | module | what it shows |
//! |---|---|
//! | [`harness`] | running the command, and a server next to it |
//! | [`quickstart`] | encode, serve, get, update, get again, inspect |
//! | [`silence`] | traffic does not depend on what is looked up |
//! | [`sources`] | bad source files: fault, line and column of the error |
//! | [`batch`] | several rows, or values of several keys, in one round |
//! | [`changes`] | the columns of a file of changes, the summary before an update, and values that come back as encoded |
//! | [`codes`] | each exit code, and errors as JSON with `--json` |
//! | [`documents`] | runs every command of the README, the guides and the cookbook |
//! | [`first_lookup`] | the example of the README, from Rust |
//! | [`faults`] | killed encoders and servers, a taken port, a full disk |
//! | [`figures`] | the plot and the table of schemes against their results |
//! | [`changes`] | the columns of a file of changes, the summary before an update, values that come back as encoded |
//! | [`lost_state`] | images that are damaged, or lost while they are served |
//! | [`json_keys`] | the ledger's page of what verbs print with `--json` |
//! | [`keys`] | keyword tables, and their updates |
//! | `oblivious` | lookups through a relay, which reads nothing (feature `ohttp`) |
//! | [`operations`] | rotation of signing keys, backup and restore |
//! | [`parts`] | tables in parts: cut, served, and refused with one missing |
//! | [`plan`] | a plan, and the table that is encoded from it |
//! | [`relay`] | a proxy that records requests |
//! | [`apple_symmetric`] | symmetric tables of Apple's lookups: a row for each evaluation |
//! | [`shards`] | a hostile server of Apple's lookups, and what it may learn of a key |
//! | [`state`] | durable state: from call to call, and copied |
//! | [`all_verbs`] | help, `bench`, `demo` |
//! | [`merkle`] | proofs from a transparency log, built, served and grown |
//! | [`two_servers`] | a table of two servers, each a process of its own |
//! | [`variants`] | every variant of a scheme over HTTP; large rows as a stream |
//! | [`vectors`] | recorded lookups, replayed |
//! | [`verify`] | proofs and copies of logs, checked without a server |
//! | [`witnessed`] | publisher logs: a witness, and publishers that equivocate |

// Clippy knows tests by their attribute, and what they share has none.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod all_verbs;
mod apple;
mod apple_symmetric;
mod batch;
mod bits;
mod changes;
mod codes;
mod doctor;
mod documents;
mod faults;
mod figures;
#[path = "../../../../examples/first-lookup/src/main.rs"]
#[allow(dead_code, reason = "its `main` is for whoever runs it alone")]
mod first_lookup;
mod folders;
mod harness;
mod json_keys;
mod keys;
mod leakage;
mod lost_state;
mod merkle;
#[cfg(feature = "ohttp")]
mod oblivious;
mod operations;
mod parts;
mod phones;
mod plan;
mod quickstart;
mod relay;
mod shards;
mod silence;
mod sources;
mod state;
mod streamed_tables;
mod symmetric;
mod tokens;
mod two_server_hints;
mod two_servers;
mod variants;
mod vectors;
mod verify;
mod witnessed;

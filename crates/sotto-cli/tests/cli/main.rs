//! The command from outside: a real process, real files, real sockets.
//!
//! | module | what it shows |
//! |---|---|
//! | [`harness`] | running the command, and a server next to it |
//! | [`journey`] | encode, serve, get, update, get again, inspect |
//! | [`silence`] | what is seen on the wire does not tell what was wanted |
//! | [`sources`] | bad source files: whose fault, which line, which column |
//! | [`batch`] | several rows, or values of several keys, in one round |
//! | [`changes`] | which columns a file of changes means, what is said before, and that what was encoded comes back |
//! | [`codes`] | each exit code, and that errors are JSON where asked for |
//! | [`documents`] | every command of the README, the guides and the cookbook, as it stands there |
//! | [`first_lookup`] | the example of the README, from Rust |
//! | [`faults`] | killed encoders and servers, a taken port, a full disk |
//! | [`figures`] | the plot and the table of schemes against their results |
//! | [`helped`] | two servers and kept hints: killed on either side, one ahead of the other |
//! | [`lost_state`] | images that are damaged, or lost while they are served |
//! | [`json_keys`] | the ledger's page of what verbs print with `--json` |
//! | [`keys`] | tables that are asked by key, and change |
//! | `oblivious` | lookups by way of a relay, which reads nothing (feature `ohttp`) |
//! | [`operated`] | keys of tables that change, and what cannot be made again, kept and put back |
//! | [`parts`] | tables in parts: cut, served, and refused with one missing |
//! | [`planned`] | a plan, and the table that it chose |
//! | [`relay`] | what stands between, and writes down what was sent |
//! | [`sealed`] | symmetric tables of Apple's lookups: a row for each evaluation |
//! | [`shards`] | a hostile server of Apple's lookups, and what it may learn of a key |
//! | [`state`] | hints that are used up: from call to call, and copied |
//! | [`tour`] | help, `bench`, `demo` |
//! | [`merkle`] | proofs from a transparency log, built, served and grown |
//! | [`two`] | a table of two servers, each a process of its own |
//! | [`variants`] | every variant of a scheme over HTTP; large rows as a stream |
//! | [`vectors`] | recorded lookups, replayed |
//! | [`verify`] | proofs and copies of logs, checked without a server |
//! | [`witnessed`] | catalogs in the open: a log, a witness, and publishers who lie |

// Clippy knows tests by their attribute, and what they share has none.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod apple;
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
mod helped;
mod journey;
mod json_keys;
mod keys;
mod leakage;
mod lost_state;
mod merkle;
#[cfg(feature = "ohttp")]
mod oblivious;
mod operated;
mod parts;
mod phones;
mod planned;
mod relay;
mod sealed;
mod shards;
mod silence;
mod sources;
mod state;
mod streamed;
mod symmetric;
mod tokens;
mod tour;
mod two;
mod variants;
mod vectors;
mod verify;
mod witnessed;

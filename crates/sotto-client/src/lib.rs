//! The client: looks up rows of a table without revealing to the server which.
//!
//! ```
//! use sotto_client::Table;
//! # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/common.rs")); }
//! # let server = common::server_of("simplepir/1", 3000, 8);
//! # let (url, key) = (server.http(), server.with(|world| world.pin()));
//!
//! let mut table = Table::connect(&url, "squares").pin(key).open()?;
//! let row = table.get(1234)?;
//! assert_eq!(row, (1234u64 * 1234).to_le_bytes());
//!
//! let cost = table.last_lookup().ok_or("one lookup was made")?;
//! println!("{} bytes up, {} down, {:?}", cost.up, cost.down, cost.round_trip);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`session`] | the client without I/O: what to send, and how to read the responses |
//! | [`transport`] | how requests travel: in process, over HTTP, with retries |
//! | [`table`] | a blocking client of one table (feature `cache`) |
//! | [`stack`] | a blocking client of a layer and its tables (feature `cache`) |
//! | [`lookup`] | what a caller looks up, and the rows that are requested for it (feature `cache`) |
//! | [`cache`] | files kept between runs (feature `cache`) |
//! | [`state`] | state that a client must neither lose nor use twice (feature `cache`) |
//! | [`files`] | the files below both: the system's, or a browser's (feature `cache`) |
//! | `parallel` | threads, where the platform has them (feature `cache`) |
//! | [`error`] | errors: whose fault, and what to do |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

/// Unit tests share a server with the integration tests, which know the crate by its name.
#[cfg(test)]
extern crate self as sotto_client;

#[cfg(feature = "cache")]
pub mod cache;
pub mod error;
#[cfg(feature = "cache")]
pub mod files;
#[cfg(feature = "cache")]
pub mod lookup;
#[cfg(feature = "cache")]
mod parallel;
pub mod session;
#[cfg(feature = "cache")]
pub mod stack;
#[cfg(feature = "cache")]
pub mod state;
#[cfg(feature = "cache")]
pub mod table;
pub mod transport;

pub use error::{ClientError, Fault, Result};
#[cfg(feature = "cache")]
pub use lookup::{Lookup, LookupResult};
pub use session::{QueryRequest, Session, SessionSetup, Trust};
#[cfg(feature = "cache")]
pub use stack::Stack;
#[cfg(feature = "cache")]
pub use table::Table;

/// Key of a witness, parsed from the text `NAME+ID+BASE64`.
pub use sotto_tlog::WitnessKey;

/// Key of a publisher, parsed from the text that `sotto encode` prints.
pub use sotto_catalog::PublicKey;

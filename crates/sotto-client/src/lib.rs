//! The client: looks rows up without telling the server which.
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
//! let cost = table.last().ok_or("one lookup was made")?;
//! println!("{} bytes up, {} down, {:?}", cost.up, cost.down, cost.round_trip);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | what lives there |
//! |---|---|
//! | [`session`] | without I/O: what to send, and how to read what comes back |
//! | [`transport`] | how requests travel: memory, HTTP, retries |
//! | [`table`] | the blocking client for people in a hurry (feature `cache`) |
//! | [`stack`] | tables under a layer, asked all at once (feature `cache`) |
//! | [`wish`] | what is wanted of either, and the law that a request leaves whatever it is (feature `cache`) |
//! | [`cache`] | what is kept on disk between runs (feature `cache`) |
//! | [`state`] | what a client must not lose, nor use twice (feature `cache`) |
//! | [`files`] | the files under both: the system's, or a browser's (feature `cache`) |
//! | `together` | threads, where there are any (feature `cache`) |
//! | [`error`] | whose fault, and what to do |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

/// Tests in here share a server with those outside, which know the crate by its name.
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

/// A witness's key, `NAME+ID+BASE64`: parse it from that text.
pub use sotto_tlog::WitnessKey;

/// A publisher's key, as `sotto encode` prints it: parse it from that text.
pub use sotto_catalog::PublicKey;

//! The client.
//!
//! | module | what lives there |
//! |---|---|
//! | [`session`] | without I/O: what to send, and how to read what comes back |
//! | [`transport`] | how requests travel: memory, HTTP, retries |
//! | [`table`] | the blocking client for people in a hurry (feature `cache`) |
//! | [`cache`] | what is kept on disk between runs (feature `cache`) |
//! | [`error`] | whose fault, and what to do |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

#[cfg(feature = "cache")]
pub mod cache;
pub mod error;
pub mod session;
#[cfg(feature = "cache")]
pub mod table;
pub mod transport;

pub use error::{ClientError, Fault, Result};
pub use session::{Ask, Opening, Session, Trust};
#[cfg(feature = "cache")]
pub use table::Table;

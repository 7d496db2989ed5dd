//! The shared implementation of SealPIR, FastPIR, VBPIR and PIRANA.
//!
//! ```
//! use fastpir::FastPir;
//! use sotto_core::{Params as _, TableShape};
//!
//! // A scheme of this family chooses parameters for a table, and reports what they guarantee.
//! type Params = sotto_bfv::Params<FastPir>;
//! let params = Params::check(Params::select(&TableShape::new(1 << 12, 256, 1))?)?;
//! let report = params.report();
//! assert!(report.security.bits >= 128.0 && report.failure_log2 <= -40.0);
//! assert!(report.records * report.record_bytes >= 256 << 12);
//! # Ok::<(), sotto_core::Error>(())
//! ```
//!
//! A table consists of BFV plaintexts, and a record of a few of their numbers: slots, which
//! multiply one by one, or coefficients. A table may consist of equal *buckets*, of each of which
//! one query asks for one record. The server multiplies its plaintexts by *selectors*, ciphertexts
//! of ones and zeros, and sums; the schemes of this family differ in how a query becomes selectors,
//! and in what is done with the sums.
//!
//! The letters: n the degree, t the plain modulus, B the buckets, R the records of each, D the
//! positions that a bucket has in the slots of a plaintext.
//!
//! | module | contents |
//! |---|---|
//! | [`rings`] | the rings that parameter sets may name |
//! | [`literal`] | the parameters that are written into a catalog |
//! | [`layout`] | the positions of records in plaintexts |
//! | [`family`] | the traits by which a scheme describes itself |
//! | [`params`], [`candidates`], `select` | parameters: checked and reported, tried, selected |
//! | [`noise`] | the noise of a lookup, and the probability that it is too large |
//! | [`cost`] | exact bytes, and estimated time |
//! | [`whitening`] | the public random stream that is combined with the data |
//! | [`column_merge`] | answers in slots, with several columns in each |
//! | `evaluator` | the ring, the layout and the keys that a method computes with (feature `server`) |
//! | [`message`] | keys, queries, answers, and their bits on the wire |
//! | [`client`] | prepare, query, recover |
//! | [`mulpir`] | MulPIR as Apple's library computes it, byte for byte |
//! | `scheme` | the scheme of a family |
//! | `server` | encode, open, admit, answer, update (feature `server`) |
#![forbid(unsafe_code)]

pub mod candidates;
pub mod client;
pub mod column_merge;
pub mod cost;
#[cfg(feature = "server")]
pub mod evaluator;
pub mod family;
pub mod layout;
pub mod literal;
pub mod message;
pub mod mulpir;
pub mod noise;
pub mod params;
pub mod rings;
mod scheme;
mod select;
#[cfg(feature = "server")]
pub mod server;
pub mod whitening;

pub use family::{Bfv, Family, Method, ParamsSet, RequiredKeys};
pub use layout::{BucketPlace, Layout, PlaintextForm};
pub use params::Params;

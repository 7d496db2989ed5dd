//! What SealPIR, FastPIR, VBPIR and PIRANA share.
//!
//! A table is plaintexts of BFV, and a record is a few of their numbers: slots that multiply one by one, or coefficients. A table
//! may consist of equal *buckets*, of each of which one query asks for one record. The server multiplies its plaintexts by
//! *selectors*, ciphertexts of ones and zeroes, and sums; the schemes of this family differ in how a query becomes selectors, and
//! in what is done with the sums.
//!
//! The letters: n the degree, t the plain modulus, B the buckets, R the records of each, D the positions that a bucket has in the
//! slots of a plaintext.
//!
//! | module | what lives there |
//! |---|---|
//! | [`rings`] | the rings there are |
//! | [`literal`] | what is written into a catalog |
//! | [`layout`] | where records lie |
//! | [`family`] | what a scheme of the family says of itself |
//! | [`params`], [`tried`], `select`, `report` | checked parameters, choosing them, what a person reads of them |
//! | [`noise`] | what a method says of its noise, and the probability that it is too much |
//! | [`cost`] | bytes, and estimated time |
//! | [`whiten`](mod@whiten) | the public mask on the data |
//! | [`merged`] | answers in slots, several columns to each |
//! | [`message`] | keys, queries, answers, and their bits on the wire |
//! | [`client`] | prepare, ask, read |
//! | [`mulpir`] | MulPIR as Apple's library computes it, byte for byte |
//! | `scheme` | the scheme that comes of a family |
//! | `server` | encode, open, admit, answer, revise (feature `server`) |
#![forbid(unsafe_code)]

pub mod candidates;
pub mod client;
pub mod column_merge;
pub mod cost;
pub mod family;
pub mod layout;
pub mod literal;
pub mod message;
pub mod mulpir;
pub mod noise;
pub mod params;
mod report;
pub mod rings;
mod scheme;
mod select;
#[cfg(feature = "server")]
pub mod server;
pub mod whitening;

pub use family::{Family, Method, ParamsSet, RequiredKeys};
pub use layout::{BucketPlace, Layout, PlaintextForm};
pub use params::Params;
pub use scheme::Bfv;

//! The shared implementation of Spiral (Menon, Wu, S&P 2022), FSpiral (Luo, Wang, 2025) and
//! OnionPIR (Mughees, Chen, Ren, CCS 2021).
//!
//! ```
//! use fspiral::FSpiral;
//! use sotto_core::{Params as _, TableShape};
//!
//! // A scheme of this family chooses parameters for a table, and reports what they guarantee.
//! type Params = sotto_cube::params::Params<FSpiral>;
//! let params = Params::check(Params::select(&TableShape::new(1 << 14, 256, 1))?)?;
//! let report = params.report();
//! assert!(report.security.bits >= 128.0 && report.failure_log2 <= -40.0);
//! assert!(report.records * report.record_bytes >= 256 << 14);
//! # Ok::<(), sotto_core::Error>(())
//! ```
//!
//! A table is a hypercube of records: a first dimension of `rows`, then nu2 dimensions of two. A
//! query holds a selector for each row and a bit for each further dimension. The server multiplies
//! its whole table by the selectors, which leaves one ciphertext for each column, folds the columns
//! by one bit after the other, and sends the result with fewer bits. The schemes of this family
//! differ in how a query travels (as one ciphertext that the server expands, or in full), in the
//! modulus after expansion, and in what a unit of a record is: a polynomial, several that are
//! packed into one answer, or a matrix of them.
//!
//! The letters are Spiral's: N the degree, q the modulus, Q = q q' where there is a second one, p
//! the plaintext modulus, nu1 and nu2 the dimensions, n the side of a unit, (l, B, A) a gadget.
//!
//! | module | contents |
//! |---|---|
//! | [`literal`] | the parameters that are written into a catalog |
//! | [`rings`] | the rings that parameter sets may name |
//! | [`params`] | checked parameters |
//! | `report` | guarantees and costs of parameters, for a person |
//! | [`noise`] | the noise of a lookup, and the probability that it is too large |
//! | [`cost`] | exact bytes, and estimated time |
//! | [`select`] | the selection of parameters for a table |
//! | `scheme` | the scheme of a family |
//! | [`shape`] | the positions of records in the image |
//! | [`whitening`] | the public random stream that is combined with the data |
//! | [`message`] | keys, queries, answers, and their bits on the wire |
//! | [`query`] | the messages that a query encrypts, in constant time |
//! | [`client`] | prepare, query, recover |
//! | `encode`, `update_image` | the image of a table, and changes to it (feature `server`) |
//! | `read` | records read out of an image (feature `server`) |
//! | `session` | a client's keys as the server holds them (feature `server`) |
//! | `answer` | expansion, first dimension, folding, and answers for records or units (feature `server`) |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

#[cfg(feature = "server")]
pub mod answer;
pub mod client;
pub mod cost;
#[cfg(feature = "server")]
pub mod encode;
pub mod literal;
pub mod message;
pub mod noise;
pub mod params;
pub mod query;
#[cfg(feature = "server")]
mod read;
mod report;
pub mod rings;
mod scheme;
pub mod select;
#[cfg(feature = "server")]
pub mod session;
pub mod shape;
#[cfg(feature = "server")]
pub mod update_image;
pub mod whitening;

pub use literal::{Literal, TableForm, Template, Upload};
pub use message::{Answer, Keys, Query, UnitAnswer};
pub use params::{CubeScheme, Family, Params};

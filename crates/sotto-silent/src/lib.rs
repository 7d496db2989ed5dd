//! What schemes share whose table is one matrix of signed bytes: records are its columns, a query is an encrypted unit vector,
//! and one pass multiplies the two.
//!
//! With a hint a client reads the products by itself, and that is SimplePIR. Without one, the server packs the products into
//! few ring-LWE ciphertexts with keys that travel in the query: *silent* preprocessing, since nothing that the server
//! prepares ever reaches a client. README.md has the symbols and what the noise bound rests on.
//!
//! | module | what lives there |
//! |---|---|
//! | [`matrix`] | the matrix in an image: written, changed, read, and multiplied by many queries in one pass |
//! | [`lwe`] | SimplePIR's lattice, encryptions and hints |
//! | [`lattice`] | the ring of silent schemes, and what is public in it |
//! | [`ones`] | which words of a query are ones: a record's, or those of a few that are added up |
//! | [`vector`] | encrypted unit vectors with their packing keys, and how packed products are read: the client's half |
//! | [`bound`] | the noise bound: from sizes to a failure probability |
//! | `samples` | the masks of products, from the matrix (feature `server`) |
//! | `packed` | digits for packing in an image, and the pass over them (feature `server`) |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod bound;
pub mod lattice;
pub mod lwe;
pub mod matrix;
pub mod ones;
#[cfg(feature = "server")]
pub mod packed;
#[cfg(feature = "server")]
pub mod samples;
pub mod vector;

//! Apple's private lookups, byte for byte.
//!
//! ```
//! use sotto_apple::{keyword, length_prefix};
//!
//! // A key lies in one bucket of each of two tables, by its hash.
//! let hash = keyword::hash(b"example.com");
//! let [first, second] = keyword::buckets(hash, 1000);
//! assert!(first < 1000 && second < 1000);
//! assert_eq!(keyword::buckets_of_secret(hash, 1000), [first, second]);
//!
//! // An entry of an index table starts with its value's length, in two bytes from 256 on.
//! assert_eq!(length_prefix::entry_bytes(300), Some(302));
//! ```
//!
//! Phones speak this protocol. This crate implements its server as functions from bytes to bytes,
//! with the client that tests and operators need. The arithmetic is [`sotto_bfv::mulpir`]; this
//! crate implements the encodings of Apple's library.
//!
//! | module | contents |
//! |---|---|
//! | [`sets`] | parameter sets by Apple's names, and the checks they pass |
//! | [`drbg`] | seeds, and the uniform polynomials that are derived from them |
//! | [`codec`] | encodings of polynomials and ciphertexts, and the order of their values |
//! | [`client`] | makes requests, and reads answers |
//! | [`proto`] | the messages, field by field |
//! | [`keys`] | evaluation keys: decoded, made, and kept for users |
//! | [`keyword`] | keys, buckets, and tables of rows |
//! | [`length_prefix`] | entries of an index table that follow their lengths |
//! | [`lookup`] | queries and responses |
//! | [`config`] | configurations of tables for clients |
//! | [`processed`] | the table files that Apple's tools write |
//! | [`symmetric`](mod@symmetric) | rows that open with one evaluation of a function, and no others |
//! | `use_case` | a table that is served, and why a request is refused |
//! | [`service`] | requests, their parts, and answers, without sockets |
//! | `image` | use cases as files: encoded, mapped, and updated (feature `image`) |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod client;
pub mod codec;
pub mod config;
pub mod drbg;
#[cfg(feature = "image")]
pub mod image;
pub mod keys;
pub mod keyword;
pub mod length_prefix;
pub mod lookup;
pub mod processed;
pub mod proto;
pub mod service;
pub mod sets;
pub mod symmetric;
mod use_case;

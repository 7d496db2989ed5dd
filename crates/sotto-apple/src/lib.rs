//! Apple's private lookups, byte for byte.
//!
//! Phones speak this protocol, and here is the server's half of it as functions from bytes to bytes, with the client's half that
//! tests and operators need. The arithmetic is [`sotto_bfv::mulpir`]; this crate knows how Apple's library writes it down.
//!
//! | module | what lives there |
//! |---|---|
//! | [`sets`] | parameter sets by Apple's names, and the gate they pass |
//! | [`drbg`] | seeds, and the uniform polynomials that follow from them |
//! | [`codec`] | polynomials and ciphertexts as bytes, and the order of their values |
//! | [`client`] | what a client sends, and reads of answers |
//! | [`proto`] | the messages, field by field |
//! | [`keys`] | evaluation keys, read and made |
//! | [`keyword`] | keys, buckets, and tables of rows |
//! | [`lengths`] | entries of an index table that say how long they are |
//! | [`lookup`] | queries and responses of an index table |
//! | [`config`] | what clients are told of tables |
//! | [`processed`] | the files of tables that Apple's tools write |
//! | [`symmetric`](mod@symmetric) | rows that open with one evaluation of a function, and no others |
//! | [`work`] | what a request asks for: a lookup, or an evaluation |
//! | `use_case` | a table that is served, and one lookup in it |
//! | [`service`] | requests and answers, without a socket |
//! | `refused` | why a request is refused |
//! | [`recent`] | keys in memory, those that were used last |
//! | `image` | use cases as files: encoded, mapped, and updated (feature `image`) |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod client;
pub mod codec;
pub mod config;
pub mod drbg;
#[cfg(feature = "image")]
pub mod image;
pub mod key_cache;
pub mod keys;
pub mod keyword;
pub mod length_prefix;
pub mod lookup;
pub mod processed;
pub mod proto;
mod refusal;
pub mod request_part;
pub mod service;
pub mod sets;
pub mod symmetric;
mod use_case;

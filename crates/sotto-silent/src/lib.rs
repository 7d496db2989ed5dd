//! Shared code of schemes whose table is one matrix of signed bytes: records are its columns, a
//! query is an encrypted unit vector, and one pass multiplies the two.
//!
//! ```
//! use sotto_silent::one_hot::OneHot;
//!
//! // The words of a query for place 5 of eight: a one there, compared in constant time.
//! let mut ones = OneHot::new(5, 1);
//! let query: Vec<u8> = (0..8).map(|place| ones.is_one(place).unwrap_u8()).collect();
//! assert_eq!(query, [0, 0, 0, 0, 0, 1, 0, 0]);
//!
//! // The matrix times the query is the column at that place.
//! let matrix = [[1, 2, 3, 4, 5, 6, 7, 8], [10, 20, 30, 40, 50, 60, 70, 80]];
//! let product = matrix.map(|row| row.iter().zip(&query).map(|(x, bit)| x * bit).sum::<u8>());
//! assert_eq!(product, [6, 60]);
//! ```
//!
//! With a hint, a client reads the products by itself: that is SimplePIR. Without one, the server
//! packs the products into few ring-LWE ciphertexts with keys that travel in the query. This is
//! *silent* preprocessing, since nothing that the server prepares ever reaches a client. README.md
//! has the symbols and the assumptions of the noise bound.
//!
//! # A scheme of the family
//!
//! A scheme is its literal, its queries, its passes and its bound. It implements four traits of
//! [`method`], each in a file of its own, and [`MatrixScheme`] is then a scheme:
//!
//! | file | trait | contents |
//! |---|---|---|
//! | `lib.rs` | [`Method`] | the names of the other three, and the scheme's metadata |
//! | `literal.rs` | [`MatrixLiteral`] | what a catalog states, its check, sizes, bound, costs and selection; the [`Format`](message::Format) of query and answer |
//! | `client.rs` | [`MatrixClient`] | the paper's Query and Recover; [`SumClient`] where records are added up, [`BatchClient`] where tables have buckets |
//! | `server.rs` | [`MatrixServer`] | the paper's Setup and Answer: the pieces of a table and of its parts, what is written, and the passes |
//!
//! The frame has everything else: checked parameters and their report, messages on the wire,
//! preparation (`()`, [`MaskDownload`](masks::MaskDownload), or [`HintDownload`](lwe::hint::HintDownload)),
//! refused indices, changes and answers, batches of [`MatrixServer::BATCH`], updates, parts and their
//! joins. An accelerator that has copies of the matrices makes passes for
//! [`MatrixServer::ACCELERATED_BATCH`] queries in the processor's place. A literal's methods are those of
//! [`Params`], too. A query is [expanded](MatrixServer::expand) by itself, and then
//! [passes](MatrixServer::pass) run for a few queries at once. Their result is a
//! [`Partial`](message::Partial): words for the part's rows, and packed ciphertexts. Those of all parts
//! are joined in order, and [`finish`](MatrixServer::finish) makes the answer of them. A whole table is
//! its only part. `schemes/ypir-sp` is the shortest example, with one matrix and packing; `schemes/ypir`
//! has two passes and an answer that is finished at last; `schemes/simplepir` has a hint.
//!
//! | module | contents |
//! |---|---|
//! | [`method`] | the traits of a scheme, and its checked parameters |
//! | [`message`] | formats of messages, with total decoders; queries, answers, and results of parts |
//! | [`client`] | prepare, query, recover, patch |
//! | `server` | encode, open, answer, update, and parts (feature `server`) |
//! | `scheme` | the scheme of a method |
//! | [`matrix_shape`] | dividing a table into records, the price of a lookup, and the cheapest literal |
//! | [`limits`] | checks that refuse literals |
//! | [`bound`] | the noise bound: from sizes to a failure probability |
//! | [`masks`] | masks of packed ciphertexts, which clients fetch once an epoch |
//! | [`measure`] | measuring the noise of packed numbers |
//! | [`matrix`] | the matrix in an image: written, changed, read, and multiplied by many queries in one pass |
//! | `packed_matrix` | a matrix whose products are packed, in two passes, or some groups of it (feature `server`) |
//! | `pieces` | the pieces of a table's section, and what a part has of each (feature `server`) |
//! | [`two_pass`] | two passes: rows of the hint are fetched like rows of a table |
//! | [`lwe`] | SimplePIR's lattice, encryptions and hints |
//! | [`lattice`] | the ring of silent schemes and its public polynomials |
//! | [`plain_modulus`] | the plain modulus, and the scales of several records in a column |
//! | [`nibbles`] | bytes as two numbers of four bits |
//! | [`one_hot`] | which words of a query are ones: a record's, or those of a few that are added |
//! | [`unit_vector`] | encrypted unit vectors with their packing keys, and reading packed products: the client's half |
//! | `samples` | the masks of products, from the matrix (feature `server`) |
//! | [`groups`] | numbers in groups, each a packed ciphertext, and the sizes of their data |
//! | `packed_groups` | packing weights in an image, writing them, and the pass over them (feature `server`) |
//! | [`short_blocks`] | queries for tables of few records, whose packing takes fewer switches |
//! | `short_block_matrix` | the matrix of such a table, with the digits of these switches (feature `server`) |
//! | `weight_rows` | rows of packing weights, and writing them (feature `server`) |
//! | `weights` | packing weights of small groups, of which there are many (feature `server`) |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod bound;
pub mod client;
pub mod groups;
pub mod lattice;
pub mod limits;
pub mod lwe;
pub mod masks;
pub mod matrix;
pub mod matrix_shape;
pub mod measure;
pub mod message;
pub mod method;
pub mod nibbles;
pub mod one_hot;
#[cfg(feature = "server")]
pub mod packed_groups;
#[cfg(feature = "server")]
pub mod packed_matrix;
#[cfg(feature = "server")]
pub mod pieces;
pub mod plain_modulus;
#[cfg(feature = "server")]
pub mod samples;
mod scheme;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "server")]
pub mod short_block_matrix;
pub mod short_blocks;
pub mod two_pass;
pub mod unit_vector;
#[cfg(feature = "server")]
mod weight_rows;
#[cfg(feature = "server")]
pub mod weights;

pub use client::Client;
pub use method::{
    BatchClient, MatrixClient, MatrixLiteral, MatrixScheme, Method, Params, PatchMethod, Preparation,
    RegisteredKeys, SumClient,
};
#[cfg(feature = "server")]
pub use method::{MatrixServer, SessionOf};

/// log2 of a sum of probabilities that are given in log2, at most 0.
pub fn log2_sum(parts: impl IntoIterator<Item = f64>) -> f64 {
    parts.into_iter().fold(f64::NEG_INFINITY, sotto_lattice::noise::log2_sum).min(0.0)
}

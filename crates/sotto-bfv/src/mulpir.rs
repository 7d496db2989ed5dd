//! MulPIR over unmodified BFV, byte for byte as Apple's library computes it.
//!
//! A table of equal entries consists of plaintexts of coefficients in a rectangle of `d0` by `d1`.
//! One ciphertext, or a few, is expanded to selectors of both dimensions; plaintexts times
//! selectors of the first dimension are summed for each column, and these sums times selectors of
//! the second dimension are summed, relinearized, and left with one prime (Ali, Lepoint, Patel,
//! Raykova, Schoppmann, Seth, Yeo, USENIX Security 2021).
//!
//! This module handles numbers only, and no bytes of messages: the implementation of a protocol
//! turns these into ciphertexts, and answers into bytes. It is not a scheme of a catalog either.
//! `sealpir` has this method with a ring, a layout and messages of this project.
//!
//! | module | contents |
//! |---|---|
//! | [`shape`] | entries, dimensions, and the position of an entry |
//! | [`context`] | a ring with its precomputed values |
//! | [`keys`] | the automorphisms that a query needs keys for, and these keys |
//! | [`noise`] | the probability that an answer is wrong |
//! | [`query`] | the plaintexts of a query, and an entry read from an answer |
//! | `table`, `fill`, `answer`, `answer_context` | tables and answers of the server (feature `server`) |

#[cfg(feature = "server")]
pub mod answer;
#[cfg(feature = "server")]
mod answer_context;
pub mod context;
#[cfg(feature = "server")]
mod fill;
pub mod keys;
pub mod noise;
pub mod query;
pub mod shape;
#[cfg(feature = "server")]
pub mod table;

pub use context::RingContext;
pub use keys::Compression;
#[cfg(feature = "server")]
pub use keys::Keys;
pub use shape::EntryShape;
#[cfg(feature = "server")]
pub use table::ValueTable;

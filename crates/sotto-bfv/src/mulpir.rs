//! MulPIR over BFV proper, byte for byte as Apple's library computes it.
//!
//! A table of equal entries is plaintexts of coefficients in a rectangle of `d0` by `d1`. One ciphertext, or a few, is expanded
//! to selectors of both dimensions; plaintexts times the first ones are summed for each column, and the sums times the second
//! ones are summed, relinearized, and left with one prime (Ali, Lepoint, Patel, Raykova, Schoppmann, Seth, Yeo, USENIX Security
//! 2021).
//!
//! Here are numbers alone, and no bytes of messages: whoever speaks a protocol turns these into ciphertexts, and answers into
//! bytes. Neither is here a scheme of a catalog. `sealpir` has this method with a ring, a layout and messages of our own.
//!
//! | module | what lives there |
//! |---|---|
//! | [`shape`] | entries, dimensions, and where an entry lies |
//! | [`kit`] | a ring with all that is computed once for it |
//! | [`keys`] | which automorphisms a query needs keys for |
//! | [`noise`] | how often an answer is wrong |
//! | [`query`] | the plaintexts of a query, and an entry out of an answer |
//! | `session`, `table`, `fill`, `answer` | a client's keys, a table as values, how it is filled, and the steps of an answer
//! (feature `server`) |

#[cfg(feature = "server")]
pub mod answer;
pub mod context;
#[cfg(feature = "server")]
mod fill;
pub mod keys;
pub mod noise;
pub mod query;
#[cfg(feature = "server")]
pub mod session;
pub mod shape;
#[cfg(feature = "server")]
pub mod table;

pub use context::RingContext;
pub use keys::Compression;
#[cfg(feature = "server")]
pub use session::Keys;
pub use shape::EntryShape;
#[cfg(feature = "server")]
pub use table::ValueTable;

//! Schemes **without privacy**, for tests of what lies above the schemes. **Never put one into the registry.**
//!
//! A query of [`CLEAR`] *is* the record index. It runs every path of the contract (artifacts, patches,
//! revisions, keys, sessions) in microseconds, so that the logic of tables, images, servers and sessions
//! is tested apart from cryptography.
//!
//! | scheme | file | servers | keys | artifact | what it proves |
//! |---|---|---|---|---|---|
//! | [`CLEAR`] | `one.rs` | 1 | none | a checksum per record | hints, deltas, revisions |
//! | [`CLEAR_KEYED`] | `one.rs` | 1 | 48 bytes | the same | keys and sessions: another session's key reads another record |
//! | [`CLEAR_STREAM`] | `stream.rs` | 1 | 48 bytes | none | keys that outlive epochs; records in units |
//! | [`CLEAR_HELPED`] | `helped.rs` | 1, and 1 that makes hints | none | none | orders of hints, budgets that are filled up, hints that follow deltas |
//! | [`CLEAR_ROWS`] | `rows.rs` | 1 | none | the records | streams without a cache, checkpoints, states that follow deltas |
//! | [`CLEAR_STATE`] | `state.rs` | 1 | none | the rows | slots that are used up; journals, deltas, checkpoints |
//! | [`CLEAR_TWO`] | `two.rs` | 2 | none | none | the fan; it *is* private, but larger than any scheme worth having |

pub mod helped;
mod hint;
mod one;
mod params;
mod rows;
pub mod state;
mod stream;
mod two;

pub use helped::CLEAR_HELPED;
pub use one::{CLEAR, CLEAR_KEYED};
pub use params::Literal;
pub use rows::CLEAR_ROWS;
pub use state::{CLEAR_STATE, SlotsLiteral};
pub use stream::{CLEAR_STREAM, UnitsLiteral};
pub use two::CLEAR_TWO;

//! The code that all bindings of sotto share: Python, the browser, and programs behind the C
//! header.
//!
//! ```
//! use sotto_binding::{BindingError, ErrorKind, guarded};
//!
//! // What a binding does runs guarded: a panic becomes an error of the library's own fault.
//! let row: Result<u64, BindingError> = guarded(|| Ok(7));
//! assert!(matches!(row, Ok(7)));
//!
//! let error = BindingError::misuse("row 7 of 5", "ask for a row below 5");
//! assert!(matches!(error.kind, ErrorKind::Misuse));
//! ```
//!
//! A binding turns its language's values into [`Options`], lookups and a [`Listener`], and turns
//! [`LookupCost`], [`TableInfo`] and [`BindingError`] back. The code in between is here, and
//! implements nothing twice: lookups are those of `sotto_client`.
//!
//! | module | contents |
//! |---|---|
//! | [`options`] | which key to trust, where to store files, how long to wait |
//! | [`connect`] | opens a table or a stack by its name |
//! | [`table_or_stack`] | an open table or stack, queried in padded rounds |
//! | [`cost`] | the cost of a lookup, and what it revealed to the servers |
//! | [`table_info`] | the description of a table |
//! | [`vector`] | recorded lookups, replayed: whether a build makes the recorded bytes |
//! | [`error`] | errors by whose fault they are; panics are caught here |
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing)]

pub mod connect;
pub mod cost;
pub mod error;
pub mod options;
pub mod table_info;
pub mod table_or_stack;
pub mod vector;

pub use connect::{Listener, Servers, open};
pub use cost::LookupCost;
pub use error::{BindingError, ErrorKind, guarded};
pub use options::Options;
pub use table_info::TableInfo;
pub use table_or_stack::TableOrStack;

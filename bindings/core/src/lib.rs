//! What every binding of sotto shares: Python, the browser, and programs behind the C header.
//!
//! A binding turns its language's words into [`Options`], wishes and a [`Listener`], and [`LookupCost`], [`TableInfo`] and
//! [`BindingError`] back. What lies between is here, and nothing of it is a second implementation: lookups are `sotto_client`'s.
//!
//! | module | what lives there |
//! |---|---|
//! | [`options`] | whom to trust, where to keep things, how long to wait |
//! | [`mod@open`] | a name at some servers becomes a table or a stack |
//! | [`opened`] | which is asked in padded rounds |
//! | [`cost`] | what a lookup cost, and what it told the servers |
//! | [`about`] | what a table is |
//! | [`vector`] | recorded lookups, replayed: whether a build makes the bytes that it should |
//! | [`fault`] | errors by whose fault they are; no panic goes further than here |
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

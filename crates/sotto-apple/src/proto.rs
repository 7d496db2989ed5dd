//! The messages, field by field: proto3, written down from the numbers of the fields.
//!
//! They are names for bytes and check nothing. Whoever decodes one has limited its bytes before, and looks at what is in it
//! after.
#![allow(missing_docs, reason = "fields are what their protocol calls them")]

mod api;
mod he;
mod pir;

pub use api::*;
pub use he::*;
pub use pir::*;

//! Protobuf messages, field by field: proto3, written by hand from the field numbers.
//!
//! They name bytes and check nothing. Code that decodes a message limits its size before, and
//! checks its contents afterwards.
#![allow(missing_docs, reason = "fields are what their protocol calls them")]

mod api;
mod he;
mod pir;

pub use api::*;
pub use he::*;
pub use pir::*;

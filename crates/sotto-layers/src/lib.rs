//! Which rows a request needs, whatever scheme fetches them.
//!
//! | module | what lives there |
//! |---|---|
//! | [`colour`] | Merkle proofs: one row of each colour (TreePIR) |
//! | `draw` | rows that nobody asked for |
#![forbid(unsafe_code)]

pub mod colour;
mod draw;

pub use colour::Colour;

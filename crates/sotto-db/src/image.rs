//! The image file: one epoch of one table, written once, whole or not at all; then mapped.
//!
//! | module | what lives there |
//! |---|---|
//! | [`header`] | the first page: sections, offsets, digests |
//! | [`writer`] | a temporary file that becomes an image, or vanishes |
//! | [`file`](mod@file) | an open image: header checked, sections mapped |
//! | `pages` | which pages an open image lies on |
//! | `map` | the one place where a file becomes memory |
//! | `digest` | BLAKE3 over a section, and over its chunks |

pub(crate) mod digest;
pub mod file;
pub mod header;
pub(crate) mod map;
mod pages;
pub mod writer;

pub use file::{ImageFile, Seal};
pub use writer::ImageWriter;

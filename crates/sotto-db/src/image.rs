//! The image file: one epoch of one table, written once, whole or not at all; then mapped.
//!
//! | module | what lives there |
//! |---|---|
//! | [`header`] | the first page: sections, offsets, digests |
//! | [`piece`] | how much of a table's image a file holds |
//! | [`writer`] | a temporary file that becomes an image, or vanishes |
//! | [`mapped`](mod@mapped) | an open file of sections: header checked, sections mapped |
//! | [`file`](mod@file) | an open image: a mapped file with a catalog |
//! | [`foreign`] | a table of another protocol: a mapped file with a description of its own |
//! | `pages` | which pages an open image lies on |
//! | `map` | the one place where a file becomes memory |
//! | `digest` | BLAKE3 over a section, and over its chunks |

pub(crate) mod digest;
pub mod file;
pub mod file_kind;
pub mod foreign;
pub mod header;
pub(crate) mod map;
pub mod mapped;
mod pages;
pub mod writer;

pub use file::ImageFile;
pub use file_kind::FileKind;
pub use foreign::ForeignImage;
pub use mapped::{FileIdentity, MappedFile};
pub use writer::ImageWriter;

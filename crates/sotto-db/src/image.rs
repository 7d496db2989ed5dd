//! The image file of one epoch of a table: written once and atomically, then mapped.
//!
//! | module | contents |
//! |---|---|
//! | [`header`] | the first page: sections, offsets, digests |
//! | [`file_kind`] | kinds of image files: a whole image, a front, or a part |
//! | [`writer`] | a temporary file that becomes an image or is removed |
//! | [`mapped`](mod@mapped) | an open file of sections: header checked, sections mapped; its pages |
//! | [`file`](mod@file) | an open image: a mapped file with a catalog |
//! | [`foreign`] | a table of another protocol: a mapped file with a description of its own |
//! | `map` | the only module that maps files into memory |
//! | `digest` | BLAKE3 over a section and over its chunks |

pub(crate) mod digest;
pub mod file;
pub mod file_kind;
pub mod foreign;
pub mod header;
pub(crate) mod map;
pub mod mapped;
pub mod writer;

pub use file::ImageFile;
pub use file_kind::FileKind;
pub use foreign::ForeignImage;
pub use mapped::{FileIdentity, MappedFile};
pub use writer::ImageWriter;

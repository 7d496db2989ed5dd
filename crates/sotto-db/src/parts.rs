//! Tables in parts: a *front* with the catalog and everything that clients fetch, and parts with
//! what answers are computed from. Each is a file of its own and contains the catalog, so that
//! parts that are damaged, missing, duplicated or of another epoch are detected.
//!
//! | module | contents |
//! |---|---|
//! | `cut` | cuts an image, or one that is being written, into pieces |
//! | `encode_part` | encodes one part from the table's source, beside an existing front |
//! | `open` | opens the parts that belong to a front |
//! | `join` | joins the pieces of an image |
//! | `problem` | problems of a part |
//!
//! [`sotto_core::PartScheme::part_ranges`] defines the bytes of a part. They do not depend on how
//! parts are made: all pieces at once, or one by one from the same source, have the same bytes.

mod cut;
mod encode_part;
mod join;
mod open;

pub use crate::error::part::PartProblem;
pub use cut::cut_image;
pub(crate) use cut::{FilteredSink, check, cut_writer};
pub use encode_part::{PartSummary, encode_part};
pub(crate) use join::whole;
pub use open::{open_part, open_parts, part_path};

/// Pieces of a table that an encoder writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PiecesToWrite {
    /// One whole image.
    #[default]
    Whole,
    /// A front, and this many parts.
    All(u32),
    /// The front of a table in this many parts; [`encode_part`] makes the parts.
    Front(u32),
}

impl PiecesToWrite {
    /// Number of parts, if the table is in parts.
    pub(crate) fn parts(self) -> Option<u32> {
        match self {
            PiecesToWrite::Whole => None,
            PiecesToWrite::All(parts) | PiecesToWrite::Front(parts) => Some(parts),
        }
    }
}

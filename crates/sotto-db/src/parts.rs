//! Tables in parts: a *front* with the catalog and all that clients fetch, and parts with what answers are made from. Each is a
//! file of its own and names the catalog, so that parts of another epoch, doubled, missing or damaged ones are found.
//!
//! | module | what lives there |
//! |---|---|
//! | `cut` | pieces out of an image, or out of one that is being written |
//! | `alone` | one part out of the table's source, beside a front that is there |
//! | `open` | the parts that belong to a front |
//! | `rejoin` | the image that was cut, out of its pieces |
//! | `problem` | what may be wrong with a part |
//!
//! A part is what [`sotto_core::Partial::holds`] says. What a table is cut to does not depend on how: all pieces at once, or one
//! by one from the same source, are the same bytes.

mod cut;
mod encode_part;
mod join;
mod open;
mod problem;

pub use cut::cut_image;
pub(crate) use cut::{FilteredSink, check, cut_writer};
pub use encode_part::{PartSummary, encode_part};
pub(crate) use join::whole;
pub use open::{open_part, open_parts, part_path};
pub use problem::PartProblem;

/// What an encoder writes of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PiecesToWrite {
    /// One image.
    #[default]
    Whole,
    /// A front, and so many parts.
    All(u32),
    /// The front of a table in so many parts, which [`encode_part`] makes.
    Front(u32),
}

impl PiecesToWrite {
    /// How many parts there are, if the table is cut.
    pub(crate) fn parts(self) -> Option<u32> {
        match self {
            PiecesToWrite::Whole => None,
            PiecesToWrite::All(parts) | PiecesToWrite::Front(parts) => Some(parts),
        }
    }
}

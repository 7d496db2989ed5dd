//! The matrix D in an image: opened, read back, and multiplied by many queries in one pass.
//!
//! | module | what it does |
//! |---|---|
//! | `write` | records become the matrix (feature `server`) |
//! | `records` | columns, or parts of columns, out of a matrix (feature `server`) |
//! | `column` | a stretch of one column changes (feature `server`) |
//! | `change` | bytes of an image's matrix change, and how it says so |
//! | `stretch` | the rows of a part of a table (feature `server`) |
//! | `part` | a rectangle of a matrix is written, wherever in its section the matrix begins (feature `server`) |

mod change;
#[cfg(feature = "server")]
mod column;
#[cfg(feature = "server")]
mod open;
#[cfg(feature = "server")]
mod part;
#[cfg(feature = "server")]
mod records;
#[cfg(feature = "server")]
mod row_range;
#[cfg(feature = "server")]
mod write;

#[cfg(feature = "server")]
use sotto_core::Section;

/// Where something begins in an image.
#[cfg(feature = "server")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionOffset {
    /// The section that it lies in.
    pub section: Section,
    /// Bytes of the section before it.
    pub start: u64,
}

#[cfg(feature = "server")]
impl From<Section> for SectionOffset {
    /// The start of a section.
    fn from(section: Section) -> Self {
        SectionOffset { section, start: 0 }
    }
}

pub use change::ByteChange;
#[cfg(feature = "server")]
pub use change::{change_panels, write_changes};
#[cfg(feature = "server")]
pub use column::change_column;
#[cfg(feature = "server")]
pub use open::{BATCH, Matrix, ScanKernel, times};
#[cfg(feature = "server")]
pub use part::write_part;
#[cfg(feature = "server")]
pub use row_range::RowRange;
#[cfg(feature = "server")]
pub use write::{write_columns, write_matrix};

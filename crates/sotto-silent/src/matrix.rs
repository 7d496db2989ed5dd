//! The matrix D in an image: opened, read back, and multiplied by many queries in one pass.
//!
//! | module | contents |
//! |---|---|
//! | `open` | the matrix of an open image, and its products with queries |
//! | `write` | writing records as the matrix (feature `server`) |
//! | `records` | reading columns, or parts of columns (feature `server`) |
//! | `column` | changing a range of one column (feature `server`) |
//! | `change` | changing bytes of an image's matrix, and reporting the differences |
//! | `row_range` | the rows of a part of a table (feature `server`) |
//! | `part` | writing a rectangle of a matrix, wherever in its section the matrix begins (feature `server`) |

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

/// An offset in a section of an image.
#[cfg(feature = "server")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionOffset {
    /// The section of the image.
    pub section: Section,
    /// Bytes before the offset.
    pub start: u64,
}

#[cfg(feature = "server")]
impl From<Section> for SectionOffset {
    /// Offset 0 of a section.
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

//! The matrix D in an image: opened, read back, and multiplied by many queries in one pass.
//!
//! | module | what it does |
//! |---|---|
//! | `write` | records become the matrix (feature `server`) |
//! | `change` | bytes of an image's matrix change, and how it says so |

mod change;
#[cfg(feature = "server")]
mod open;
#[cfg(feature = "server")]
mod write;

use sotto_core::Section;

/// Where something begins in an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The section that it lies in.
    pub section: Section,
    /// Bytes of the section before it.
    pub start: u64,
}

impl From<Section> for Place {
    /// The start of a section.
    fn from(section: Section) -> Self {
        Place { section, start: 0 }
    }
}

pub use change::Entry;
#[cfg(feature = "server")]
pub use change::write_changes;
#[cfg(feature = "server")]
pub use open::{BATCH, Matrix, Scan};
#[cfg(feature = "server")]
pub use write::{write_columns, write_matrix};

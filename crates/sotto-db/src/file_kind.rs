//! Kinds of image files: a whole image, or a piece of an image in parts.

use sotto_core::PartIndex;
use std::fmt;

/// Kind of an image file: a whole image, a front, or a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FileKind {
    /// The whole image.
    #[default]
    Whole,
    /// The front of an image in this many parts: the catalog and what clients fetch, without the
    /// resident section.
    Front(u32),
    /// One part of the resident section.
    Part(PartIndex),
}

impl FileKind {
    /// Number of parts of the table, if this is the front of an image in parts.
    pub fn parts(self) -> Option<u32> {
        match self {
            FileKind::Front(parts) => Some(parts),
            _ => None,
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileKind::Whole => f.write_str("a whole image"),
            FileKind::Front(parts) => write!(f, "the front of a table in {parts} parts"),
            FileKind::Part(cut) => write!(f, "part {} of {}, counted from 0", cut.part(), cut.parts()),
        }
    }
}

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

    /// Numbers of this kind in the header: a part's number and the number of parts; a front is
    /// numbered after the last part.
    pub(crate) fn to_numbers(self) -> [u32; 2] {
        match self {
            FileKind::Whole => [0, 0],
            FileKind::Front(parts) => [parts, parts],
            FileKind::Part(cut) => [cut.part(), cut.parts()],
        }
    }

    /// The kind with these numbers.
    pub(crate) fn from_numbers([part, parts]: [u32; 2]) -> Result<Self, &'static str> {
        match PartIndex::new(part, parts) {
            Some(cut) => Ok(FileKind::Part(cut)),
            None if part != parts => Err("the part number is past the number of parts"),
            None if parts == 0 => Ok(FileKind::Whole),
            None => Ok(FileKind::Front(parts)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_comes_back_and_nothing_else_is_one() {
        let part = |part, parts| FileKind::Part(PartIndex::new(part, parts).unwrap());
        for piece in [FileKind::Whole, FileKind::Front(1), FileKind::Front(u32::MAX), part(0, 1), part(6, 7)]
        {
            assert_eq!(FileKind::from_numbers(piece.to_numbers()), Ok(piece), "{piece}");
        }
        for numbers in [[1, 0], [8, 7], [u32::MAX, 7]] {
            assert!(FileKind::from_numbers(numbers).is_err(), "{numbers:?}");
        }
    }
}

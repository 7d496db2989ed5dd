//! How much of a table's image a file holds: all of it, or a piece of one that is cut.

use crate::ImageProblem;
use sotto_core::PartIndex;
use std::fmt;

/// How much of an image a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FileKind {
    /// All of it.
    #[default]
    Whole,
    /// What clients fetch, and the catalog: everything but what answers are made from, which lies in so many parts.
    Front(u32),
    /// One part of what answers are made from.
    Part(PartIndex),
}

impl FileKind {
    /// As the header has it: a part's number and how many there are; a front is what comes after the last part.
    pub(super) fn to_numbers(self) -> [u32; 2] {
        match self {
            FileKind::Whole => [0, 0],
            FileKind::Front(parts) => [parts, parts],
            FileKind::Part(cut) => [cut.part(), cut.parts()],
        }
    }

    pub(super) fn from_numbers([part, parts]: [u32; 2]) -> Result<Self, ImageProblem> {
        match PartIndex::new(part, parts) {
            Some(cut) => Ok(FileKind::Part(cut)),
            None if part != parts => Err(ImageProblem::Malformed { why: "it is a part that there is not" }),
            None if parts == 0 => Ok(FileKind::Whole),
            None => Ok(FileKind::Front(parts)),
        }
    }

    /// How many parts a table has, if this is the front of one that is cut.
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

//! How much of a table's image a file holds: all of it, or a piece of one that is cut.

use crate::ImageProblem;
use sotto_core::Cut;
use std::fmt;

/// How much of an image a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Piece {
    /// All of it.
    #[default]
    Whole,
    /// What clients fetch, and the catalog: everything but what answers are made from, which lies in so many parts.
    Front(u32),
    /// One part of what answers are made from.
    Part(Cut),
}

impl Piece {
    /// As the header has it: a part's number and how many there are; a front is what comes after the last part.
    pub(super) fn to_numbers(self) -> [u32; 2] {
        match self {
            Piece::Whole => [0, 0],
            Piece::Front(parts) => [parts, parts],
            Piece::Part(cut) => [cut.part(), cut.parts()],
        }
    }

    pub(super) fn from_numbers([part, parts]: [u32; 2]) -> Result<Self, ImageProblem> {
        match Cut::new(part, parts) {
            Some(cut) => Ok(Piece::Part(cut)),
            None if part != parts => Err(ImageProblem::Malformed { why: "it is a part that there is not" }),
            None if parts == 0 => Ok(Piece::Whole),
            None => Ok(Piece::Front(parts)),
        }
    }

    /// How many parts a table has, if this is the front of one that is cut.
    pub fn parts(self) -> Option<u32> {
        match self {
            Piece::Front(parts) => Some(parts),
            _ => None,
        }
    }
}

impl fmt::Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Piece::Whole => f.write_str("a whole image"),
            Piece::Front(parts) => write!(f, "the front of a table in {parts} parts"),
            Piece::Part(cut) => write!(f, "part {} of {}, counted from 0", cut.part(), cut.parts()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_comes_back_and_nothing_else_is_one() {
        let part = |part, parts| Piece::Part(Cut::new(part, parts).unwrap());
        for piece in [Piece::Whole, Piece::Front(1), Piece::Front(u32::MAX), part(0, 1), part(6, 7)] {
            assert_eq!(Piece::from_numbers(piece.to_numbers()), Ok(piece), "{piece}");
        }
        for numbers in [[1, 0], [8, 7], [u32::MAX, 7]] {
            assert!(Piece::from_numbers(numbers).is_err(), "{numbers:?}");
        }
    }
}

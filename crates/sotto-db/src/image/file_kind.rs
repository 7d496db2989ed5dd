//! The numbers of a kind of image file in the header.

use crate::ImageProblem;
pub use crate::file_kind::FileKind;
use sotto_core::PartIndex;

impl FileKind {
    /// Numbers of this kind in the header: a part's number and the number of parts; a front is
    /// numbered after the last part.
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
            None if part != parts => {
                Err(ImageProblem::Malformed { why: "the part number is past the number of parts" })
            }
            None if parts == 0 => Ok(FileKind::Whole),
            None => Ok(FileKind::Front(parts)),
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

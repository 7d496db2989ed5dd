//! What may be wrong with a part.

use crate::image::FileKind;
use sotto_core::Epoch;

/// What is wrong with a part of a table that is cut. Parts are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartProblem {
    /// Not there.
    #[error(
        "part {part} of the table is missing, without which nothing can be answered: copy it here, or make it with \
        `sotto encode --part {part}`"
    )]
    Missing {
        /// Its number.
        part: u32,
    },
    /// Another piece than its name says.
    #[error(
        "part {part} of the table should be here, and this is {found}: copy the right file here, or make it again"
    )]
    Misplaced {
        /// Its number.
        part: u32,
        /// What is there.
        found: FileKind,
    },
    /// Of another epoch, or another encoding of it.
    #[error(
        "part {part} is of another encoding (epoch {found}) than the table's front (epoch {wanted}): copy the right file \
        here, or make it with `sotto encode --part {part}`"
    )]
    OtherEpoch {
        /// Its number.
        part: u32,
        /// The epoch it names.
        found: Epoch,
        /// That of the front.
        wanted: Epoch,
    },
}

//! Problems of a part of a table.

use crate::file_kind::FileKind;
use sotto_core::Epoch;

/// Problem of a part of a table. Parts are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartProblem {
    /// The part is missing.
    #[error(
        "part {part} of the table is missing, which every answer needs: copy it here, or make it with `sotto encode \
         --part {part}`"
    )]
    Missing {
        /// Number of the part.
        part: u32,
    },
    /// The file is another piece than its name says.
    #[error("expected part {part} of the table, got {found}: copy the right file here, or make it again")]
    Misplaced {
        /// Number of the part.
        part: u32,
        /// Contents of the file.
        found: FileKind,
    },
    /// The part belongs to another epoch, or to another encoding of the same one.
    #[error(
        "part {part} is of another encoding (epoch {found}) than the table's front (epoch {wanted}): copy the \
         matching part here, or make it with `sotto encode --part {part}`"
    )]
    OtherEpoch {
        /// Number of the part.
        part: u32,
        /// Epoch of the part.
        found: Epoch,
        /// Epoch of the front.
        wanted: Epoch,
    },
}

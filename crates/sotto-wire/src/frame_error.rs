//! Why a frame is refused.

use crate::Code;
use sotto_core::Epoch;

/// Version of all frames.
pub const VERSION: u8 = 1;

/// Why a frame was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The bytes end before the fixed head does.
    #[error("the frame is cut short")]
    Short,
    /// The first four bytes are those of another kind of frame.
    #[error("the frame does not start with its magic")]
    Magic,
    /// This build does not support the frame's version.
    #[error("expected frame version {VERSION}, got {0}")]
    Version(u8),
    /// A reserved field is not zero.
    #[error("a reserved field is not zero")]
    Reserved,
    /// The frame has no items, or more than it can count.
    #[error("expected 1 to 65535 items in a frame, got {got}")]
    Count {
        /// Number of items.
        got: u64,
    },
    /// The payload's size differs from what the count and the parameters require.
    #[error("expected {want} bytes, got {got}")]
    Length {
        /// Bytes of the payload.
        got: u64,
        /// Bytes that the count and the parameters require.
        want: u64,
    },
    /// The frame requests no units, or units that a record does not have.
    #[error("the frame requests no units, or units past the {len} of a record")]
    Units {
        /// Number of units of a record.
        len: u64,
    },
    /// The frame is of another epoch.
    #[error("expected a frame of epoch {want}, got epoch {got}")]
    Epoch {
        /// Epoch in the frame.
        got: Epoch,
        /// Expected epoch.
        want: Epoch,
    },
    /// The frame is of other parameters, or of another scheme.
    #[error("the frame is of another scheme or other parameters")]
    Params,
    /// The frame names another server.
    #[error("expected a frame for server {want}, got server {got}")]
    Server {
        /// Role in the frame.
        got: u8,
        /// Expected role.
        want: u8,
    },
}

impl FrameError {
    /// Code of the refusal that a server sends for this error.
    pub fn code(self) -> Code {
        match self {
            FrameError::Version(_) => Code::WrongVersion,
            FrameError::Epoch { .. } => Code::StaleEpoch,
            FrameError::Params => Code::WrongParams,
            FrameError::Server { .. } => Code::WrongServer,
            _ => Code::Malformed,
        }
    }
}

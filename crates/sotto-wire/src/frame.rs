//! The 48 bytes at the start of every frame, and the reasons to refuse a frame.

use crate::{Code, fields::FieldReader};
use sotto_core::{Epoch, ParamsDigest};

/// Version of all frames.
pub const VERSION: u8 = 1;

/// Bytes before the payload of an answer or keys frame.
pub const FRAME_HEADER_BYTES: usize = 48;

/// Server, epoch and parameters that both ends must agree on before a payload has a meaning.
///
/// The digest covers the scheme's id and its parameters, so a frame of another scheme is refused
/// here too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// Role of the server that the frame is for or from, counted from 0.
    pub server: u8,
    /// Epoch that the frame is about.
    pub epoch: Epoch,
    /// Digest of scheme and parameters.
    pub digest: ParamsDigest,
}

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
    #[error("frame version {0}, this build speaks {VERSION}")]
    Version(u8),
    /// A reserved field is not zero.
    #[error("a reserved field is not zero")]
    Reserved,
    /// The frame has no items, or more than it can count.
    #[error("{got} items in a frame, 1 to 65535 are possible")]
    Count {
        /// Number of items.
        got: u64,
    },
    /// The payload's size differs from what the count and the parameters require.
    #[error("{got} bytes where the parameters say {want}")]
    Length {
        /// Bytes of the payload.
        got: u64,
        /// Bytes that the count and the parameters require.
        want: u64,
    },
    /// The frame requests no units, or units that a record does not have.
    #[error("the frame asks for no units, or for some past the {len} of a record")]
    Units {
        /// Number of units of a record.
        len: u64,
    },
    /// The frame is of another epoch.
    #[error("the frame is of epoch {got}, expected {want}")]
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
    #[error("the frame names server {got}, expected {want}")]
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

/// Writes magic, version, header and count.
pub(crate) fn put_head(out: &mut Vec<u8>, magic: &[u8; 4], pin: &FrameHeader, count: u16) {
    out.extend_from_slice(magic);
    out.push(VERSION);
    out.push(pin.server);
    out.extend_from_slice(&count.to_le_bytes());
    out.extend_from_slice(&pin.epoch.0.to_le_bytes());
    out.extend_from_slice(&pin.digest.0);
}

/// Parses what [`put_head`] wrote; the count is not checked here.
pub(crate) fn take_head(
    fields: &mut FieldReader<'_>,
    magic: &[u8; 4],
) -> Result<(FrameHeader, u16), FrameError> {
    if fields.take::<4>()? != *magic {
        return Err(FrameError::Magic);
    }
    let [version] = fields.take::<1>()?;
    if version != VERSION {
        return Err(FrameError::Version(version));
    }
    let [server] = fields.take::<1>()?;
    let count = u16::from_le_bytes(fields.take()?);
    let epoch = Epoch(u64::from_le_bytes(fields.take()?));
    let digest = ParamsDigest(fields.take()?);
    Ok((FrameHeader { server, epoch, digest }, count))
}

impl FrameHeader {
    /// Refuses a frame whose header is not this one; parameters are compared before the epoch.
    ///
    /// # Errors
    /// [`FrameError::Server`], [`FrameError::Params`] or [`FrameError::Epoch`].
    pub fn check(&self, got: &FrameHeader) -> Result<(), FrameError> {
        if got.server != self.server {
            return Err(FrameError::Server { got: got.server, want: self.server });
        }
        if got.digest != self.digest {
            return Err(FrameError::Params);
        }
        if got.epoch != self.epoch {
            return Err(FrameError::Epoch { got: got.epoch, want: self.epoch });
        }
        Ok(())
    }
}

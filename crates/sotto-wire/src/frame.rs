//! The 48 bytes every frame starts with, and why a frame is refused.

use crate::{Code, fields::FieldReader};
use sotto_core::{Epoch, ParamsDigest};

/// The version of every frame.
pub const VERSION: u8 = 1;

/// Bytes before the payload of an answer or keys frame.
pub const FRAME_HEADER_BYTES: usize = 48;

/// What both ends must agree on before a payload means anything.
///
/// The digest covers the scheme's id and its parameters, so a frame of another scheme is refused here too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// Which of the scheme's servers this frame is for or from, counted from 0.
    pub server: u8,
    /// The snapshot asked about.
    pub epoch: Epoch,
    /// Scheme and parameters.
    pub digest: ParamsDigest,
}

/// Why a frame was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The bytes end before the fixed head does.
    #[error("the frame is cut short")]
    Short,
    /// The first four bytes are not this frame's.
    #[error("the frame does not start with its magic")]
    Magic,
    /// A frame version this build does not speak.
    #[error("frame version {0}, this build speaks {VERSION}")]
    Version(u8),
    /// A reserved field is not zero.
    #[error("a reserved field is not zero")]
    Reserved,
    /// No items, or more than a frame can count.
    #[error("{got} items in a frame, 1 to 65535 are possible")]
    Count {
        /// How many.
        got: u64,
    },
    /// A payload of another size than the count and the parameters fix.
    #[error("{got} bytes where the parameters say {want}")]
    Length {
        /// Bytes there.
        got: u64,
        /// Bytes due.
        want: u64,
    },
    /// No units, or some that a record does not have.
    #[error("the frame asks for no units, or for some past the {len} of a record")]
    Units {
        /// How many a record has.
        len: u64,
    },
    /// The frame is of another epoch.
    #[error("the frame is of epoch {got}, expected {want}")]
    Epoch {
        /// In the frame.
        got: Epoch,
        /// Expected.
        want: Epoch,
    },
    /// The frame is of other parameters, or of another scheme.
    #[error("the frame is of another scheme or other parameters")]
    Params,
    /// The frame names another server.
    #[error("the frame names server {got}, expected {want}")]
    Server {
        /// In the frame.
        got: u8,
        /// Expected.
        want: u8,
    },
}

impl FrameError {
    /// The refusal a server sends for it.
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

/// Writes magic, version, pin and count.
pub(crate) fn put_head(out: &mut Vec<u8>, magic: &[u8; 4], pin: &FrameHeader, count: u16) {
    out.extend_from_slice(magic);
    out.push(VERSION);
    out.push(pin.server);
    out.extend_from_slice(&count.to_le_bytes());
    out.extend_from_slice(&pin.epoch.0.to_le_bytes());
    out.extend_from_slice(&pin.digest.0);
}

/// Reads what [`put_head`] wrote; the count is not judged here.
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
    /// Refuses a frame whose pin is not this one; parameters are judged before the epoch.
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

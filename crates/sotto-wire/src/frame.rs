//! The 48 bytes at the start of every frame, and the reasons to refuse a frame.

use crate::fields::FieldReader;
pub use crate::frame_error::{FrameError, VERSION};
use sotto_core::{Epoch, ParamsDigest};

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

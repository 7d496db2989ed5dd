//! The 48 bytes at the start of every frame, the reasons to refuse a frame, and the cursor that reads
//! its fields.

use crate::ProblemCode;
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

/// A cursor that returns arrays and never panics.
pub(crate) struct FieldReader<'a>(&'a [u8]);

impl<'a> FieldReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        FieldReader(bytes)
    }

    pub(crate) fn take<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        let (field, rest) = self.0.split_first_chunk::<N>().ok_or(FrameError::Short)?;
        self.0 = rest;
        Ok(*field)
    }
}

/// Splits `payload` into `count` items of `each` bytes, if it has exactly that size.
pub(crate) fn items(payload: &[u8], count: u16, each: usize) -> Result<Vec<&[u8]>, FrameError> {
    let want = u64::from(count).saturating_mul(each as u64);
    if payload.len() as u64 != want {
        return Err(FrameError::Length { got: payload.len() as u64, want });
    }
    let mut rest = payload;
    let mut out = Vec::with_capacity(usize::from(count));
    for _ in 0..count {
        let (item, tail) = rest.split_at_checked(each).ok_or(FrameError::Short)?;
        out.push(item);
        rest = tail;
    }
    Ok(out)
}

/// Appends items that must all have one size.
pub(crate) fn put_items<T: AsRef<[u8]>>(out: &mut Vec<u8>, items: &[T]) -> Result<(), FrameError> {
    let each = items.first().map_or(0, |item| item.as_ref().len());
    for item in items {
        let got = item.as_ref().len();
        if got != each {
            return Err(FrameError::Length { got: got as u64, want: each as u64 });
        }
        out.extend_from_slice(item.as_ref());
    }
    Ok(())
}

/// Number of items as a frame encodes it: 1 to 65535.
pub(crate) fn count<T>(items: &[T]) -> Result<u16, FrameError> {
    match u16::try_from(items.len()) {
        Ok(0) | Err(_) => Err(FrameError::Count { got: items.len() as u64 }),
        Ok(count) => Ok(count),
    }
}

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
    /// A frame version that this build does not support.
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
    pub fn code(self) -> ProblemCode {
        match self {
            FrameError::Version(_) => ProblemCode::WrongVersion,
            FrameError::Epoch { .. } => ProblemCode::StaleEpoch,
            FrameError::Params => ProblemCode::WrongParams,
            FrameError::Server { .. } => ProblemCode::WrongServer,
            _ => ProblemCode::Malformed,
        }
    }
}

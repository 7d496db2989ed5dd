//! Frames of hint requests, and of the hint server's responses.

use crate::frame::{self, FieldReader};
use crate::{FrameError, FrameHeader};

/// First bytes of a hint request.
pub const MAGIC: &[u8; 4] = b"soto";

/// First bytes of a hint response.
pub const RESPONSE_MAGIC: &[u8; 4] = b"soth";

/// Bytes before the payload, in requests and responses.
pub const HEAD_BYTES: usize = frame::FRAME_HEADER_BYTES;

/// Encodes a hint request.
pub fn encode(pin: &FrameHeader, request: &[u8]) -> Vec<u8> {
    frame(MAGIC, pin, request)
}

/// Encodes a hint response.
pub fn encode_response(pin: &FrameHeader, response: &[u8]) -> Vec<u8> {
    frame(RESPONSE_MAGIC, pin, response)
}

fn frame(magic: &[u8; 4], pin: &FrameHeader, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEAD_BYTES + payload.len());
    frame::put_head(&mut out, magic, pin, 1);
    out.extend_from_slice(payload);
    out
}

/// Bytes of a frame with `payload` bytes of payload.
pub fn frame_bytes(payload: u64) -> u64 {
    payload.saturating_add(HEAD_BYTES as u64)
}

/// The fixed part of a hint request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HintRequestHead {
    /// Server, epoch and parameters that the hints are for.
    pub pin: FrameHeader,
}

impl HintRequestHead {
    /// Parses the head at the start of `body`, whatever follows it.
    ///
    /// # Errors
    /// [`FrameError`] for bytes that [`encode`] cannot have made.
    pub fn parse(body: &[u8]) -> Result<Self, FrameError> {
        Ok(HintRequestHead { pin: take(body, MAGIC)? })
    }

    /// Payload of the hint request in the frame `body` that this head was parsed from.
    ///
    /// # Errors
    /// [`FrameError::Length`] unless exactly `request_bytes` bytes follow the head.
    pub fn payload<'a>(&self, body: &'a [u8], request_bytes: usize) -> Result<&'a [u8], FrameError> {
        payload(body, request_bytes)
    }
}

/// Decodes the response to a hint request with the header `expected`.
///
/// # Errors
/// [`FrameError`] for a response from another server, epoch or scheme, or of another size.
pub fn decode_response<'a>(
    body: &'a [u8],
    expected: &FrameHeader,
    response_bytes: usize,
) -> Result<&'a [u8], FrameError> {
    expected.check(&take(body, RESPONSE_MAGIC)?)?;
    payload(body, response_bytes)
}

fn take(body: &[u8], magic: &[u8; 4]) -> Result<FrameHeader, FrameError> {
    match frame::take_head(&mut FieldReader::new(body), magic)? {
        (pin, 1) => Ok(pin),
        (_, got) => Err(FrameError::Count { got: u64::from(got) }),
    }
}

fn payload(body: &[u8], bytes: usize) -> Result<&[u8], FrameError> {
    let payload = body.get(HEAD_BYTES..).ok_or(FrameError::Short)?;
    match payload.len() == bytes {
        true => Ok(payload),
        false => Err(FrameError::Length { got: payload.len() as u64, want: bytes as u64 }),
    }
}

//! Orders of hints, on their way to the server that makes them, and the hints on their way back.

use crate::{FrameError, FrameHeader, fields::FieldReader, frame};

/// The first bytes of an order.
pub const MAGIC: &[u8; 4] = b"soto";

/// The first bytes of a supply, which is what an order is answered with.
pub const RESPONSE_MAGIC: &[u8; 4] = b"soth";

/// Bytes before the order, and before the supply.
pub const HEAD_BYTES: usize = frame::FRAME_HEADER_BYTES;

/// Encodes an order.
pub fn encode(pin: &FrameHeader, order: &[u8]) -> Vec<u8> {
    frame(MAGIC, pin, order)
}

/// Encodes the supply to an order.
pub fn encode_response(pin: &FrameHeader, supply: &[u8]) -> Vec<u8> {
    frame(RESPONSE_MAGIC, pin, supply)
}

fn frame(magic: &[u8; 4], pin: &FrameHeader, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEAD_BYTES + payload.len());
    frame::put_head(&mut out, magic, pin, 1);
    out.extend_from_slice(payload);
    out
}

/// Bytes of a frame with so many bytes of payload.
pub fn frame_bytes(payload: u64) -> u64 {
    payload.saturating_add(HEAD_BYTES as u64)
}

/// The fixed part of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HintRequestHead {
    /// Server, epoch and parameters the hints are for.
    pub pin: FrameHeader,
}

impl HintRequestHead {
    /// Reads the head at the start of `body`, whatever follows it.
    ///
    /// # Errors
    /// [`FrameError`] for bytes [`encode`] cannot have made.
    pub fn parse(body: &[u8]) -> Result<Self, FrameError> {
        Ok(HintRequestHead { pin: take(body, MAGIC)? })
    }

    /// The order in the frame `body` this head was parsed from.
    ///
    /// # Errors
    /// [`FrameError::Length`] unless exactly `order_bytes` bytes follow the head.
    pub fn order<'a>(&self, body: &'a [u8], order_bytes: usize) -> Result<&'a [u8], FrameError> {
        payload(body, order_bytes)
    }
}

/// Decodes the supply to an order pinned to `expected`.
///
/// # Errors
/// [`FrameError`] for a supply from another server, epoch or scheme, or of another size.
pub fn decode_response<'a>(
    body: &'a [u8],
    expected: &FrameHeader,
    supply_bytes: usize,
) -> Result<&'a [u8], FrameError> {
    expected.check(&take(body, RESPONSE_MAGIC)?)?;
    payload(body, supply_bytes)
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

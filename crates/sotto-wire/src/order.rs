//! Orders of hints, on their way to the server that makes them, and the hints on their way back.

use crate::{FrameError, Pin, bytes::Fields, pin};

/// The first bytes of an order.
pub const MAGIC: &[u8; 4] = b"soto";

/// The first bytes of a supply, which is what an order is answered with.
pub const SUPPLY_MAGIC: &[u8; 4] = b"soth";

/// Bytes before the order, and before the supply.
pub const HEAD_BYTES: usize = pin::PIN_BYTES;

/// Encodes an order.
pub fn encode(pin: &Pin, order: &[u8]) -> Vec<u8> {
    frame(MAGIC, pin, order)
}

/// Encodes the supply to an order.
pub fn supply(pin: &Pin, supply: &[u8]) -> Vec<u8> {
    frame(SUPPLY_MAGIC, pin, supply)
}

fn frame(magic: &[u8; 4], pin: &Pin, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEAD_BYTES + payload.len());
    pin::put_head(&mut out, magic, pin, 1);
    out.extend_from_slice(payload);
    out
}

/// Bytes of a frame with so many bytes of payload.
pub fn frame_bytes(payload: u64) -> u64 {
    payload.saturating_add(HEAD_BYTES as u64)
}

/// The fixed part of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Server, epoch and parameters the hints are for.
    pub pin: Pin,
}

impl Head {
    /// Reads the head at the start of `body`, whatever follows it.
    ///
    /// # Errors
    /// [`FrameError`] for bytes [`encode`] cannot have made.
    pub fn parse(body: &[u8]) -> Result<Self, FrameError> {
        Ok(Head { pin: take(body, MAGIC)? })
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
pub fn decode_supply<'a>(
    body: &'a [u8],
    expected: &Pin,
    supply_bytes: usize,
) -> Result<&'a [u8], FrameError> {
    expected.admit(&take(body, SUPPLY_MAGIC)?)?;
    payload(body, supply_bytes)
}

fn take(body: &[u8], magic: &[u8; 4]) -> Result<Pin, FrameError> {
    match pin::take_head(&mut Fields::new(body), magic)? {
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

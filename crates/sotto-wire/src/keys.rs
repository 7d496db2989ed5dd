//! Frames of a client's evaluation keys, and the session id that a server returns for them.

use crate::frame::{self, FieldReader};
use crate::{FrameError, FrameHeader};
use std::fmt;

/// First bytes of a keys frame.
pub const MAGIC: &[u8; 4] = b"sotk";

/// Bytes before the keys.
pub const HEAD_BYTES: usize = frame::FRAME_HEADER_BYTES;

/// Id of a session, which names admitted keys. The server draws it at random, so it says nothing
/// about the client; but it links the query requests that carry it, so it is not printed.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionId(pub [u8; 16]);

impl SessionId {
    /// Session id in query requests of schemes without keys.
    pub const NONE: SessionId = SessionId([0; 16]);
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == SessionId::NONE { "SessionId::NONE" } else { "SessionId(..)" })
    }
}

/// Encodes a registration of keys.
pub fn encode(pin: &FrameHeader, keys: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEAD_BYTES + keys.len());
    frame::put_head(&mut out, MAGIC, pin, 0);
    out.extend_from_slice(keys);
    out
}

/// The fixed part of a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeysHead {
    /// Server, epoch and parameters that the keys were made for.
    pub pin: FrameHeader,
}

impl KeysHead {
    /// Parses the head at the start of `body`, whatever follows it.
    ///
    /// # Errors
    /// [`FrameError`] for bytes that [`encode`] cannot have made.
    pub fn parse(body: &[u8]) -> Result<Self, FrameError> {
        match frame::take_head(&mut FieldReader::new(body), MAGIC)? {
            (pin, 0) => Ok(KeysHead { pin }),
            _ => Err(FrameError::Reserved),
        }
    }

    /// The keys of the frame `body` that this head was parsed from.
    ///
    /// # Errors
    /// [`FrameError::Length`] unless exactly `keys_bytes` bytes follow the head.
    pub fn keys<'a>(&self, body: &'a [u8], keys_bytes: usize) -> Result<&'a [u8], FrameError> {
        let keys = body.get(HEAD_BYTES..).ok_or(FrameError::Short)?;
        if keys.len() == keys_bytes {
            return Ok(keys);
        }
        Err(FrameError::Length { got: keys.len() as u64, want: keys_bytes as u64 })
    }
}

//! Frames of row streams: one query, and the units of its record.
//!
//! A client that lost the connection sends the same query again, from the first unit that has not
//! arrived. The server then learns how far the first request got, which whoever cut the connection
//! already knew.

use crate::frame::{self, FieldReader};
use crate::{FrameError, FrameHeader, SessionId};
use sotto_core::UnitLayout;

/// First bytes of a stream request.
pub const MAGIC: &[u8; 4] = b"sots";
/// First bytes of a stream response.
pub const ANSWER_MAGIC: &[u8; 4] = b"sotu";

/// Bytes before the query.
pub const HEAD_BYTES: usize = frame::FRAME_HEADER_BYTES + 32;
/// Bytes before the first unit's answer.
pub const ANSWER_HEAD_BYTES: usize = frame::FRAME_HEADER_BYTES;

/// The fixed part of a stream request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamHead {
    /// Server, epoch and parameters that the query was made for.
    pub pin: FrameHeader,
    /// Session with the keys that the query needs; [`SessionId::NONE`] for schemes without keys.
    pub session: SessionId,
    /// Number of the first requested unit.
    pub first: u64,
    /// Number of requested units, at least 1.
    pub units: u64,
}

/// Encodes a request for some units of the record that a query selects.
pub fn encode(head: &StreamHead, query: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEAD_BYTES + query.len());
    frame::put_head(&mut out, MAGIC, &head.pin, 1);
    out.extend_from_slice(&head.session.0);
    out.extend_from_slice(&head.first.to_le_bytes());
    out.extend_from_slice(&head.units.to_le_bytes());
    out.extend_from_slice(query);
    out
}

impl StreamHead {
    /// Parses the head at the start of `body`, whatever follows it.
    ///
    /// # Errors
    /// [`FrameError`] for bytes that [`encode`] cannot have made.
    pub fn parse(body: &[u8]) -> Result<Self, FrameError> {
        let mut fields = FieldReader::new(body);
        let (pin, count) = frame::take_head(&mut fields, MAGIC)?;
        if count != 1 {
            return Err(FrameError::Count { got: u64::from(count) });
        }
        let session = SessionId(fields.take()?);
        let [first, units] = [fields.take()?, fields.take()?].map(u64::from_le_bytes);
        Ok(StreamHead { pin, session, first, units })
    }

    /// Refuses an empty range of units, and units that a record does not have.
    ///
    /// # Errors
    /// [`FrameError::Units`].
    pub fn check(&self, units: &UnitLayout) -> Result<(), FrameError> {
        let end = self.first.checked_add(self.units).filter(|end| *end <= units.count);
        match end {
            Some(_) if self.units > 0 => Ok(()),
            _ => Err(FrameError::Units { len: units.count }),
        }
    }

    /// The query of the frame `body` that this head was parsed from.
    ///
    /// # Errors
    /// [`FrameError::Length`] unless exactly `query_bytes` bytes follow the head.
    pub fn query<'a>(&self, body: &'a [u8], query_bytes: usize) -> Result<&'a [u8], FrameError> {
        let query = body.get(HEAD_BYTES..).ok_or(FrameError::Short)?;
        if query.len() == query_bytes {
            return Ok(query);
        }
        Err(FrameError::Length { got: query.len() as u64, want: query_bytes as u64 })
    }

    /// Bytes of the response.
    pub fn answer_bytes(&self, units: &UnitLayout) -> u64 {
        self.units.saturating_mul(units.answer_bytes).saturating_add(ANSWER_HEAD_BYTES as u64)
    }
}

/// Encodes the head of a response; the requested units follow it.
pub fn answer_head(pin: &FrameHeader) -> Vec<u8> {
    let mut out = Vec::with_capacity(ANSWER_HEAD_BYTES);
    frame::put_head(&mut out, ANSWER_MAGIC, pin, 0);
    out
}

/// Checks the head of a response to a request with the header `expected`.
///
/// # Errors
/// [`FrameError`] for a response from another server, epoch or scheme.
pub fn check_answer_head(head: &[u8; ANSWER_HEAD_BYTES], expected: &FrameHeader) -> Result<(), FrameError> {
    match frame::take_head(&mut FieldReader::new(head), ANSWER_MAGIC)? {
        (pin, 0) => expected.check(&pin),
        _ => Err(FrameError::Reserved),
    }
}

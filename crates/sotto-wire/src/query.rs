//! Frames of query requests.
//!
//! A server decodes in two steps: [`QueryHead::parse`] reads the first [`HEAD_BYTES`], which is
//! cheap and refuses a wrong epoch or scheme; then [`QueryHead::queries`] reads the rest.

use crate::frame::{self, FieldReader};
use crate::{FrameError, FrameHeader, SessionId};

/// First bytes of a query request.
pub const MAGIC: &[u8; 4] = b"sotq";

/// Bytes before the first query.
pub const HEAD_BYTES: usize = frame::FRAME_HEADER_BYTES + 16;

/// The fixed part of a query request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryHead {
    /// Server, epoch and parameters that the queries were made for.
    pub pin: FrameHeader,
    /// Number of queries that follow, at least 1.
    pub count: u16,
    /// Session with the keys that the queries need; [`SessionId::NONE`] for schemes without keys.
    pub session: SessionId,
}

/// Encodes a query request of queries that all have one size.
///
/// # Errors
/// [`FrameError::Count`] for no queries or more than 65535; [`FrameError::Length`] for queries of
/// two sizes.
pub fn encode<T: AsRef<[u8]>>(
    pin: &FrameHeader,
    session: &SessionId,
    queries: &[T],
) -> Result<Vec<u8>, FrameError> {
    let count = frame::count(queries)?;
    let each = queries.first().map_or(0, |query| query.as_ref().len());
    let mut out = Vec::with_capacity(HEAD_BYTES + each * queries.len());
    frame::put_head(&mut out, MAGIC, pin, count);
    out.extend_from_slice(&session.0);
    frame::put_items(&mut out, queries)?;
    Ok(out)
}

/// Replaces the session id in a frame, and leaves its queries unchanged. Returns `false` if the
/// frame is not a query request.
pub fn replace_session(body: &mut [u8], session: &SessionId) -> bool {
    if QueryHead::parse(body).is_err() {
        return false;
    }
    body.get_mut(frame::FRAME_HEADER_BYTES..HEAD_BYTES).is_some_and(|place| {
        place.copy_from_slice(&session.0);
        true
    })
}

impl QueryHead {
    /// Parses the head at the start of `body`, whatever follows it.
    ///
    /// # Errors
    /// [`FrameError`] for bytes that [`encode`] cannot have made.
    pub fn parse(body: &[u8]) -> Result<Self, FrameError> {
        let mut fields = FieldReader::new(body);
        let (pin, count) = frame::take_head(&mut fields, MAGIC)?;
        let session = SessionId(fields.take()?);
        if count == 0 {
            return Err(FrameError::Count { got: 0 });
        }
        Ok(QueryHead { pin, count, session })
    }

    /// The queries of the frame `body` that this head was parsed from.
    ///
    /// # Errors
    /// [`FrameError::Length`] unless exactly `count * query_bytes` bytes follow the head.
    pub fn queries<'a>(&self, body: &'a [u8], query_bytes: usize) -> Result<Vec<&'a [u8]>, FrameError> {
        frame::items(body.get(HEAD_BYTES..).ok_or(FrameError::Short)?, self.count, query_bytes)
    }
}

//! Frames of answers.

use crate::frame::{self, FieldReader};
use crate::{FrameError, FrameHeader};

/// First bytes of an answer frame.
pub const MAGIC: &[u8; 4] = b"sota";

/// Bytes before the first answer.
pub const HEAD_BYTES: usize = frame::FRAME_HEADER_BYTES;

/// Encodes answers that all have one size, in the order of their queries.
///
/// # Errors
/// [`FrameError::Count`] for no answers or more than 65535; [`FrameError::Length`] for answers of
/// two sizes.
pub fn encode<T: AsRef<[u8]>>(pin: &FrameHeader, answers: &[T]) -> Result<Vec<u8>, FrameError> {
    let count = frame::count(answers)?;
    let each = answers.first().map_or(0, |answer| answer.as_ref().len());
    let mut out = Vec::with_capacity(HEAD_BYTES + each * answers.len());
    frame::put_head(&mut out, MAGIC, pin, count);
    frame::put_items(&mut out, answers)?;
    Ok(out)
}

/// Decodes the answers to a query request of `count` queries with the header `expected`.
///
/// # Errors
/// [`FrameError`] for an answer from another server, epoch or scheme, or to another number of
/// queries.
pub fn decode<'a>(
    body: &'a [u8],
    expected: &FrameHeader,
    count: u16,
    answer_bytes: usize,
) -> Result<Vec<&'a [u8]>, FrameError> {
    let (pin, got) = frame::take_head(&mut FieldReader::new(body), MAGIC)?;
    expected.check(&pin)?;
    if got != count || got == 0 {
        return Err(FrameError::Count { got: u64::from(got) });
    }
    frame::items(body.get(HEAD_BYTES..).ok_or(FrameError::Short)?, count, answer_bytes)
}

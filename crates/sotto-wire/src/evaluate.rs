//! Frames of evaluations of a symmetric table's function: blinded elements, and the server's
//! response.

use crate::{
    FrameError, FrameHeader,
    frame::{self, FieldReader},
};

/// First bytes of an evaluation request.
pub const MAGIC: &[u8; 4] = b"sote";

/// First bytes of an evaluation response.
pub const RESPONSE_MAGIC: &[u8; 4] = b"sotv";

/// Bytes before the first element, in requests and responses.
pub const HEAD_BYTES: usize = frame::FRAME_HEADER_BYTES;

/// Bytes of a group element.
pub const ELEMENT_BYTES: usize = 32;

/// Bytes of the proof at the end of a response.
pub const PROOF_BYTES: usize = 64;

/// Largest number of evaluations in one request: one for each row of a query request, or fewer.
pub const MAX_EVALUATIONS: u16 = crate::sizes::MAX_QUERIES;

/// Encoding of a group element.
pub type Element = [u8; ELEMENT_BYTES];

/// Encodes an evaluation request.
///
/// # Errors
/// [`FrameError::Count`] for no elements, or more than [`MAX_EVALUATIONS`].
pub fn encode(pin: &FrameHeader, elements: &[Element]) -> Result<Vec<u8>, FrameError> {
    frame(MAGIC, pin, elements)
}

/// Encodes an evaluation response.
///
/// # Errors
/// The errors of [`encode`].
pub fn encode_response(
    pin: &FrameHeader,
    elements: &[Element],
    proof: &[u8; PROOF_BYTES],
) -> Result<Vec<u8>, FrameError> {
    let mut out = frame(RESPONSE_MAGIC, pin, elements)?;
    out.extend_from_slice(proof);
    Ok(out)
}

fn frame(magic: &[u8; 4], pin: &FrameHeader, elements: &[Element]) -> Result<Vec<u8>, FrameError> {
    let count = checked(frame::count(elements)?)?;
    let mut out = Vec::with_capacity(HEAD_BYTES + elements.len() * ELEMENT_BYTES + PROOF_BYTES);
    frame::put_head(&mut out, magic, pin, count);
    frame::put_items(&mut out, elements)?;
    Ok(out)
}

/// Bytes of a request for `count` evaluations.
pub fn request_bytes(count: u16) -> u64 {
    HEAD_BYTES as u64 + u64::from(count) * ELEMENT_BYTES as u64
}

/// Bytes of the response to a request for `count` evaluations.
pub fn answer_bytes(count: u16) -> u64 {
    request_bytes(count) + PROOF_BYTES as u64
}

/// The fixed part of an evaluation request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvaluationHead {
    /// Server, epoch and parameters of the table that the function belongs to.
    pub pin: FrameHeader,
    /// Number of elements that follow: 1 to [`MAX_EVALUATIONS`].
    pub count: u16,
}

impl EvaluationHead {
    /// Parses the head at the start of `body`, whatever follows it.
    ///
    /// # Errors
    /// [`FrameError`] for bytes that [`encode`] cannot have made.
    pub fn parse(body: &[u8]) -> Result<Self, FrameError> {
        let (pin, count) = frame::take_head(&mut FieldReader::new(body), MAGIC)?;
        Ok(EvaluationHead { pin, count: checked(count)? })
    }

    /// The elements of the frame `body` that this head was parsed from. The caller checks that they
    /// belong to the group.
    ///
    /// # Errors
    /// [`FrameError::Length`] unless exactly `count` elements follow the head.
    pub fn elements(&self, body: &[u8]) -> Result<Vec<Element>, FrameError> {
        elements(body.get(HEAD_BYTES..).ok_or(FrameError::Short)?, self.count)
    }
}

/// Decodes the response to a request of `count` elements with the header `expected`: evaluations,
/// and their proof.
///
/// # Errors
/// [`FrameError`] for a response from another server, epoch or scheme, or to another number of
/// elements.
pub fn decode_answer(
    body: &[u8],
    expected: &FrameHeader,
    count: u16,
) -> Result<(Vec<Element>, [u8; PROOF_BYTES]), FrameError> {
    let (pin, got) = frame::take_head(&mut FieldReader::new(body), RESPONSE_MAGIC)?;
    expected.check(&pin)?;
    if got != count || checked(got).is_err() {
        return Err(FrameError::Count { got: u64::from(got) });
    }
    let payload = body.get(HEAD_BYTES..).ok_or(FrameError::Short)?;
    let (evaluated, proof) = payload.split_last_chunk().ok_or(FrameError::Short)?;
    Ok((elements(evaluated, count)?, *proof))
}

fn elements(payload: &[u8], count: u16) -> Result<Vec<Element>, FrameError> {
    let items = frame::items(payload, count, ELEMENT_BYTES)?;
    items.into_iter().map(|item| item.try_into().map_err(|_| FrameError::Short)).collect()
}

fn checked(count: u16) -> Result<u16, FrameError> {
    match count {
        1..=MAX_EVALUATIONS => Ok(count),
        _ => Err(FrameError::Count { got: u64::from(count) }),
    }
}

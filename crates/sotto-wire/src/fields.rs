//! Reads fixed fields from the front of a peer's bytes.

use crate::frame_error::FrameError;

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

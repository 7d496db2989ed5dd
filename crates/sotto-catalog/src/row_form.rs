//! Forms of values in rows: the row itself, text before zero bytes, or a value after its length.
//!
//! ```text
//! whole    value                                   every row has one length: raw rows, numbers, digests
//! text     value | zeros                           text has no zero byte, so that zero bytes mark its end
//! length   length (LE, `bytes` bytes) | value | zeros     the layer length/1; a row of zeros is the empty value
//! ```
//!
//! Encoders and clients both use this module, so that a lookup returns what was encoded, byte for
//! byte.

use crate::ValueKind;
use crate::table::LayerEntry;
use serde::{Deserialize, Serialize};
use sotto_core::{ExpectOrDefault, PeerMisbehaved, json};
use std::io::{self, Write};
use subtle::{ConditionallySelectable, ConstantTimeEq};

/// Name of the layer in a catalog.
pub const NAME: &str = "length/1";

/// Largest size of a length in bytes.
pub(crate) const MAX_LENGTH_BYTES: u8 = 4;

/// Parameters of the layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// Bytes of the length: as few as the longest value needs.
    pub(crate) bytes: u8,
}

/// Form of values in rows. A form from [`crate::Catalog::row_form`] fits the table's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowForm {
    /// The row is the value.
    Whole,
    /// The row is text, followed by zero bytes.
    Text,
    /// The row is the value's length in this many bytes, the value, and then zero bytes.
    Length(u8),
}

impl RowForm {
    /// Form for values of any length up to `longest`.
    pub fn for_lengths_up_to(longest: u64) -> Self {
        let needed = (u64::BITS - longest.leading_zeros()).div_ceil(8).max(1);
        RowForm::Length(u8::try_from(needed).expect_or_default("a length has at most 8 bytes"))
    }

    /// Layer that describes this form in a catalog, if it needs one.
    pub fn layer(self) -> Option<LayerEntry> {
        let RowForm::Length(bytes) = self else { return None };
        Some(LayerEntry { name: NAME.to_owned(), params: serde_json::json!(Params { bytes }) })
    }

    /// Form of rows with these layers, one of which may describe it. `None` if the layer's
    /// parameters are invalid.
    pub fn of_rows(value: ValueKind, layers: &[LayerEntry]) -> Option<Self> {
        let Some(layer) = layers.iter().find(|layer| layer.name == NAME) else {
            return Some(if value == ValueKind::Text { RowForm::Text } else { RowForm::Whole });
        };
        let params: Params = json::from_value(&layer.params).ok()?;
        (1..=MAX_LENGTH_BYTES).contains(&params.bytes).then_some(RowForm::Length(params.bytes))
    }

    /// Bytes of a row that do not belong to the value.
    pub fn overhead(self) -> u64 {
        if let RowForm::Length(bytes) = self { bytes.into() } else { 0 }
    }

    /// Writes a value into a row of `width` bytes. `None` if the value is too long; it is then
    /// partly written. Where rows are whole, a shorter value is padded with zero bytes, which then
    /// belong to it.
    pub fn write_value(self, value: &mut Vec<u8>, width: usize) -> Option<()> {
        if let RowForm::Length(bytes) = self {
            let length = (value.len() as u64).to_le_bytes();
            value.splice(0..0, length.into_iter().take(bytes.into()));
        }
        if value.len() > width {
            return None;
        }
        value.resize(width, 0);
        Some(())
    }

    /// Reads the value of a row. All of the row is read, whatever its contents.
    ///
    /// # Errors
    /// [`PeerMisbehaved::NotCanonical`] for a length that no value has.
    pub fn value(self, mut row: Vec<u8>) -> sotto_core::Result<Vec<u8>> {
        match self {
            RowForm::Whole => {}
            RowForm::Text => {
                let end = (1u64..)
                    .zip(&row)
                    .fold(0, |end, (after, byte)| u64::conditional_select(&after, &end, byte.ct_eq(&0)));
                row.truncate(end as usize);
            }
            RowForm::Length(bytes) => {
                let length = row.drain(..usize::from(bytes).min(row.len())).rev();
                let length = length.fold(0u64, |length, byte| length << 8 | u64::from(byte));
                if length > row.len() as u64 {
                    return Err(not_canonical());
                }
                row.truncate(length as usize);
            }
        }
        Ok(row)
    }

    /// Writer that extracts the value of a row to `out` while the row arrives.
    pub fn writer(self, out: &mut dyn Write) -> ValueWriter<'_> {
        let length = if let RowForm::Length(bytes) = self { Some((bytes, 0)) } else { None };
        ValueWriter { form: self, out, length, left: u64::MAX, zeros: 0 }
    }
}

fn not_canonical() -> sotto_core::Error {
    PeerMisbehaved::NotCanonical("the length of a value").into()
}

/// Receives a row piece by piece, and writes its value to an output.
pub struct ValueWriter<'a> {
    form: RowForm,
    out: &'a mut dyn Write,
    /// Number of bytes of the length that are missing, and the length so far.
    length: Option<(u8, u64)>,
    /// Bytes of the value that are missing.
    left: u64,
    /// Zero bytes that may be the padding of a text.
    zeros: u64,
}

impl ValueWriter<'_> {
    /// Checks the row once all of it was written. Errors are reported only now: aborting early
    /// would reveal them to the sender of the row.
    ///
    /// # Errors
    /// [`PeerMisbehaved::NotCanonical`] for a length that no value has.
    pub fn finish(self) -> sotto_core::Result<()> {
        match self.form {
            RowForm::Length(_) if self.left > 0 => Err(not_canonical()),
            _ => Ok(()),
        }
    }

    /// Writes text to the output, but holds back zero bytes until another byte follows them.
    fn text(&mut self, bytes: &[u8]) -> io::Result<()> {
        let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let (text, zeros) = bytes.split_at_checked(end).expect_or_default("the end is within the bytes");
        if !text.is_empty() {
            io::copy(&mut io::Read::take(io::repeat(0), self.zeros), &mut self.out)?;
            self.out.write_all(text)?;
            self.zeros = 0;
        }
        self.zeros += zeros.len() as u64;
        Ok(())
    }
}

impl Write for ValueWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some((missing, shift)) = self.length.filter(|(missing, _)| *missing > 0)
            && let Some((byte, after)) = rest.split_first()
        {
            let before = if shift == 0 { 0 } else { self.left };
            self.left = before | u64::from(*byte) << (8 * shift);
            self.length = Some((missing - 1, shift + 1));
            rest = after;
        }
        match self.form {
            RowForm::Whole => self.out.write_all(rest)?,
            RowForm::Text => self.text(rest)?,
            RowForm::Length(_) => {
                let taken = rest.get(..usize::try_from(self.left).unwrap_or(usize::MAX).min(rest.len()));
                let taken = taken.expect_or_default("at most what is left");
                self.out.write_all(taken)?;
                self.left -= taken.len() as u64;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streamed(form: RowForm, row: &[u8], step: usize) -> sotto_core::Result<Vec<u8>> {
        let mut out = Vec::new();
        let mut writer = form.writer(&mut out);
        for part in row.chunks(step) {
            writer.write_all(part).unwrap();
        }
        writer.finish().map(|()| out)
    }

    #[test]
    fn what_is_laid_is_read() {
        let long = vec![9; 300];
        for (form, width) in [(RowForm::Length(1), 8), (RowForm::Length(2), 302), (RowForm::Text, 300)] {
            for value in [&b""[..], b"a", b"a\0b", b"\0\0", b"\xff\xff\0", &long] {
                let mut row = value.to_vec();
                let laid = form.write_value(&mut row, width);
                if value.len() as u64 + form.overhead() > width as u64 {
                    assert_eq!(laid, None);
                    continue;
                }
                assert_eq!((laid, row.len()), (Some(()), width));
                // Text that ends in a zero byte is invalid, and refused at ingestion.
                let end = value.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                let expected = if form == RowForm::Text { &value[..end] } else { value };
                assert_eq!(form.value(row.clone()).unwrap(), expected, "{form:?}");
                for step in [1, 3, 1000] {
                    assert_eq!(streamed(form, &row, step).unwrap(), expected, "{form:?} {step}");
                }
            }
            assert_eq!(form.value(vec![0; width]).unwrap(), b"", "a row of zeros holds the empty value");
        }
        assert_eq!(RowForm::Whole.value(b"a\0".to_vec()).unwrap(), b"a\0");
        assert_eq!(streamed(RowForm::Whole, b"a\0", 1).unwrap(), b"a\0");
    }

    #[test]
    fn a_length_past_the_end_is_an_error_after_the_row() {
        for row in [&[4, 1, 2, 3][..], &[255, 0, 0, 0]] {
            assert!(RowForm::Length(1).value(row.to_vec()).is_err());
            assert!(streamed(RowForm::Length(1), row, 2).is_err());
        }
        assert!(RowForm::Length(4).value(vec![1]).is_err());
    }

    #[test]
    fn lengths_take_as_few_bytes_as_they_need() {
        for (longest, bytes) in
            [(1, 1), (255, 1), (256, 2), (65_535, 2), (65_536, 3), (1 << 24, 4), (1 << 30, 4)]
        {
            assert_eq!(RowForm::for_lengths_up_to(longest), RowForm::Length(bytes), "{longest}");
        }
    }
}

//! Encodings of values in a source file, and the meaning of their bytes.

use super::error::IngestProblem;
use super::line_reader::Cell;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sotto_catalog::{RowForm, ValueKind};
use std::str::FromStr;

/// Encoding of values in a source file, and their width.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ValueOptions {
    /// Encoding of the values.
    pub encoding: Encoding,
    /// Bytes of the longest value allowed; `None` for the longest value in the file.
    pub width: Option<usize>,
    /// Replacement for a null, in formats that have one, and for a missing field; `None` refuses
    /// them.
    pub null: Option<String>,
}

impl ValueOptions {
    /// Replaces `out` by the value's bytes.
    pub(crate) fn read(&self, cell: &Cell, out: &mut Vec<u8>) -> Result<(), IngestProblem> {
        match (cell, &self.null) {
            (Cell::Null | Cell::Missing, Some(text)) => {
                self.encoding.read(&Cell::Bytes(text.clone().into_bytes()), out)
            }
            (Cell::Null, None) => Err(IngestProblem::Null),
            _ => self.encoding.read(cell, out),
        }
    }
}

/// Encoding of a value in a source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoding {
    /// UTF-8 text, stored as it is.
    #[default]
    Text,
    /// Bytes, stored as they are; for binary columns.
    Raw,
    /// Bytes written as hexadecimal digits of either case.
    Hex,
    /// Bytes written in standard base64.
    Base64,
    /// An unsigned integer, stored little-endian in this many bytes: 1, 2, 4 or 8.
    Unsigned(u8),
}

impl FromStr for Encoding {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "text" => Encoding::Text,
            "raw" => Encoding::Raw,
            "hex" => Encoding::Hex,
            "base64" => Encoding::Base64,
            "u8" => Encoding::Unsigned(1),
            "u16" => Encoding::Unsigned(2),
            "u32" => Encoding::Unsigned(4),
            "u64" => Encoding::Unsigned(8),
            _ => return Err("expected an encoding of text, raw, hex, base64, u8, u16, u32, u64"),
        })
    }
}

impl Encoding {
    /// Meaning of the bytes to a person.
    pub fn kind(self) -> ValueKind {
        match self {
            Encoding::Text => ValueKind::Text,
            Encoding::Raw | Encoding::Hex | Encoding::Base64 => ValueKind::Bytes,
            Encoding::Unsigned(_) => ValueKind::Unsigned,
        }
    }

    /// Encoding of the values of a table that is already encoded.
    pub fn for_kind(kind: ValueKind, row_bytes: u64) -> Self {
        match (kind, row_bytes) {
            (ValueKind::Text, _) => Encoding::Text,
            // The width may be larger than an integer's: in a wider row, zero bytes follow.
            (ValueKind::Unsigned, _) => Encoding::Unsigned(row_bytes.min(8) as u8),
            _ => Encoding::Hex,
        }
    }

    /// Width of values that all have one width; `None` if it depends on the values.
    pub(crate) fn fixed_width(self) -> Option<usize> {
        match self {
            Encoding::Unsigned(bytes) => Some(usize::from(bytes)),
            _ => None,
        }
    }

    /// Replaces `out` by the value's bytes.
    pub(crate) fn read(self, cell: &Cell, out: &mut Vec<u8>) -> Result<(), IngestProblem> {
        out.clear();
        match self {
            Encoding::Unsigned(bytes) => {
                let value = cell.unsigned()?;
                let (fitting, rest) = value
                    .to_le_bytes()
                    .split_at_checked(usize::from(bytes))
                    .map_or((Vec::new(), Vec::new()), |(fitting, rest)| (fitting.to_vec(), rest.to_vec()));
                if rest.iter().any(|&b| b != 0) {
                    let needed = (64 - value.leading_zeros()).div_ceil(8) as usize;
                    return Err(IngestProblem::TooLong { bytes: needed, width: usize::from(bytes) });
                }
                out.extend(fitting);
            }
            Encoding::Text => {
                let text = cell.text()?;
                std::str::from_utf8(&text).map_err(|e| IngestProblem::Utf8 { at: e.valid_up_to() })?;
                if text.contains(&0) {
                    return Err(IngestProblem::ZeroByte);
                }
                out.extend_from_slice(&text);
            }
            Encoding::Raw => out.extend_from_slice(cell.bytes("bytes")?),
            Encoding::Hex => {
                let digits = cell.bytes("hexadecimal digits")?;
                let (pairs, rest) = digits.as_chunks::<2>();
                let digit = |c: u8| char::from(c).to_digit(16);
                for &[high, low] in pairs {
                    let byte = digit(high).zip(digit(low)).map(|(high, low)| (high << 4 | low) as u8);
                    out.push(byte.ok_or_else(|| cell.is_not("hexadecimal digits"))?);
                }
                if !rest.is_empty() {
                    return Err(cell.is_not("an even number of hexadecimal digits"));
                }
            }
            Encoding::Base64 => STANDARD
                .decode_vec(cell.bytes("base64")?, out)
                .map_err(|_| cell.is_not("base64, with its padding"))?,
        }
        Ok(())
    }
}

/// Writes a value into a row of this width.
pub(crate) fn lay(form: RowForm, value: &mut Vec<u8>, width: usize) -> Result<(), IngestProblem> {
    let (bytes, max_bytes) = (value.len(), width.saturating_sub(form.overhead() as usize));
    form.write_value(value, width).ok_or(IngestProblem::TooLong { bytes, width: max_bytes })
}

/// Smallest and largest length of a file's values.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ValueLengths(Option<(usize, usize)>);

impl ValueLengths {
    /// Adds the length of a value.
    pub(crate) fn add(&mut self, bytes: usize) {
        let (shortest, longest) = self.0.unwrap_or((bytes, bytes));
        self.0 = Some((shortest.min(bytes), longest.max(bytes)));
    }

    /// Form of rows for values of these lengths, and the width of rows. Text is stored before its
    /// zero bytes, and numbers as they are. Bytes are stored as they are if all have one length;
    /// otherwise each value follows its length.
    pub(crate) fn arrange(self, options: &ValueOptions) -> (RowForm, usize) {
        let (shortest, longest) = self.0.unwrap_or_default();
        let max_bytes = options.width.or(options.encoding.fixed_width()).unwrap_or(longest.max(1));
        let form = match options.encoding.kind() {
            ValueKind::Text => RowForm::Text,
            ValueKind::Bytes if (shortest, longest) != (max_bytes, max_bytes) => {
                RowForm::for_lengths_up_to(max_bytes as u64)
            }
            _ => RowForm::Whole,
        };
        (form, max_bytes.saturating_add(form.overhead() as usize))
    }
}

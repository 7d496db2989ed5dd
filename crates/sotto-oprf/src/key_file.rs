//! Key files: a header line, and a line with the key in lower-case hexadecimal digits.

use crate::{OprfError, Result};
use zeroize::Zeroizing;

/// The format of the files of one kind of key, and the errors for other text.
pub(crate) struct KeyFileFormat {
    /// First line of the file.
    pub(crate) header: &'static str,
    /// Prefix of the digits.
    pub(crate) prefix: &'static str,
    /// Error for another first line.
    pub(crate) other_header: &'static str,
    /// Error for a second line with another prefix.
    pub(crate) other_prefix: &'static str,
    /// Error for too many digits, too few, or characters that are not digits.
    pub(crate) other_digits: &'static str,
}

impl KeyFileFormat {
    /// Writes the text of a file. It is allocated once, so that no copy stays in memory.
    pub(crate) fn write(&self, key: &[u8]) -> Zeroizing<String> {
        let length = self.header.len() + self.prefix.len() + 2 * key.len() + 2;
        let mut text = Zeroizing::new(String::with_capacity(length));
        text.push_str(self.header);
        text.push('\n');
        text.push_str(self.prefix);
        for byte in key {
            for digit in [byte >> 4, byte & 15] {
                text.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
            }
        }
        text.push('\n');
        text
    }

    /// Parses a key file.
    ///
    /// # Errors
    /// [`OprfError::KeyText`], which never holds the text.
    pub(crate) fn read<const N: usize>(&self, text: &str) -> Result<Zeroizing<[u8; N]>> {
        let refuse = OprfError::KeyText;
        let (header, key) = text.split_once('\n').ok_or(refuse("an OPRF key file must have two lines"))?;
        if header.trim_end() != self.header {
            return Err(refuse(self.other_header));
        }
        let digits = key.trim_end().strip_prefix(self.prefix).ok_or(refuse(self.other_prefix))?;
        digits_of(digits).ok_or(refuse(self.other_digits))
    }
}

/// Decodes lower-case hexadecimal digits, two for each byte.
fn digits_of<const N: usize>(digits: &str) -> Option<Zeroizing<[u8; N]>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    let digit = |c: u8| match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    };
    let mut bytes = Zeroizing::new([0; N]);
    for (out, &[high, low]) in bytes.iter_mut().zip(pairs) {
        *out = digit(high)? << 4 | digit(low)?;
    }
    Some(bytes)
}

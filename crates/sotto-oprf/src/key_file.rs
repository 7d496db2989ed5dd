//! Files of keys: a line that says what it is, and a line with the key in lower-case hexadecimal digits.

use crate::{OprfError, Result};
use zeroize::Zeroizing;

/// How the files of one kind of key look, and what is said of files that do not.
pub(crate) struct KeyFileFormat {
    /// The first line.
    pub(crate) header: &'static str,
    /// What stands before the digits.
    pub(crate) prefix: &'static str,
    /// Said of another first line.
    pub(crate) other_header: &'static str,
    /// Said of a second line that begins with something else.
    pub(crate) other_prefix: &'static str,
    /// Said of too many digits, too few, or others.
    pub(crate) other_digits: &'static str,
}

impl KeyFileFormat {
    /// The text of a file. It is made in one piece of memory, so that no copy stays behind.
    pub(crate) fn write(&self, key: &[u8]) -> Zeroizing<String> {
        let room = self.header.len() + self.prefix.len() + 2 * key.len() + 2;
        let mut text = Zeroizing::new(String::with_capacity(room));
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

    /// The bytes of a key in such a file.
    ///
    /// # Errors
    /// [`OprfError::KeyText`]. It never holds the text.
    pub(crate) fn read<const N: usize>(&self, text: &str) -> Result<Zeroizing<[u8; N]>> {
        let refuse = OprfError::KeyText;
        let (header, key) = text.split_once('\n').ok_or(refuse("an OPRF key file has two lines"))?;
        if header.trim_end() != self.header {
            return Err(refuse(self.other_header));
        }
        let digits = key.trim_end().strip_prefix(self.prefix).ok_or(refuse(self.other_prefix))?;
        digits_of(digits).ok_or(refuse(self.other_digits))
    }
}

/// The bytes of lower-case hexadecimal digits, two for each.
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

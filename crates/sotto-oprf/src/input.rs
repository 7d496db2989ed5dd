//! Inputs of the function: the names of rows and keys.
//!
//! ```text
//! row   "sotto-oprf-row/1"  00 | length of the table's name (u8) | name | row (u64 LE) | version (u64 LE)
//! key   "sotto-oprf-key/1"  00 | length of the table's name (u8) | name | key | zeros up to the longest key |
//!       length of the key (u32 LE)
//! ```
//!
//! The input contains the table's name, so that tables which share a key by mistake share no masks.
//! All inputs of one table have the same length, so the time of hashing reveals nothing of the
//! item.

use crate::{MaskVersion, OprfError, Result};
use std::fmt;
use zeroize::Zeroizing;

const ROW: &[u8] = b"sotto-oprf-row/1\0";
const KEY: &[u8] = b"sotto-oprf-key/1\0";

/// An input of the function, which names an item of a table. Secret, and wiped on drop.
pub struct Input(Zeroizing<Vec<u8>>);

impl Input {
    /// Makes the input for a row of a table, as written in the epoch `version`. A row that is
    /// written again has another input, and so another mask.
    ///
    /// # Errors
    /// [`OprfError::Input`] for a table's name of more than 255 bytes.
    pub fn row(table: &str, row: u64, version: MaskVersion) -> Result<Self> {
        let mut bytes = start(ROW, table, 16)?;
        bytes.extend_from_slice(&row.to_le_bytes());
        bytes.extend_from_slice(&version.0.to_le_bytes());
        Ok(Input(bytes))
    }

    /// Makes the input for a key of a table whose keys have at most `longest` bytes.
    ///
    /// # Errors
    /// [`OprfError::Input`] for a longer key, or a table's name of more than 255 bytes.
    pub fn key(table: &str, key: &[u8], longest: u32) -> Result<Self> {
        let (longest, length) = (longest as usize, u32::try_from(key.len()).map_err(|_| OprfError::Input)?);
        let mut bytes = start(KEY, table, longest.saturating_add(4))?;
        let zeros = longest.checked_sub(key.len()).ok_or(OprfError::Input)?;
        bytes.extend_from_slice(key);
        bytes.extend(std::iter::repeat_n(0, zeros));
        bytes.extend_from_slice(&length.to_le_bytes());
        if bytes.len() > usize::from(u16::MAX) {
            return Err(OprfError::Input);
        }
        Ok(Input(bytes))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Makes an input of any bytes, for known-answer tests.
    #[cfg(test)]
    pub(crate) fn raw(bytes: &[u8]) -> Self {
        Input(Zeroizing::new(bytes.to_vec()))
    }
}

/// Allocates the whole input at once: copies that a growing vector leaves behind would not be
/// wiped.
fn start(context: &[u8], table: &str, rest: usize) -> Result<Zeroizing<Vec<u8>>> {
    let length = u8::try_from(table.len()).map_err(|_| OprfError::Input)?;
    let capacity = context.len().saturating_add(1).saturating_add(table.len()).saturating_add(rest);
    if capacity > usize::from(u16::MAX) {
        return Err(OprfError::Input);
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(capacity));
    bytes.extend_from_slice(context);
    bytes.push(length);
    bytes.extend_from_slice(table.as_bytes());
    Ok(bytes)
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Input(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_item_has_a_name_of_its_own_and_all_have_one_length() {
        let mut names = BTreeSet::new();
        for (table, row, version) in [("t", 0, 1), ("t", 1, 0), ("t", 1, 1), ("u", 1, 1), ("tt", 1, 1)] {
            names.insert(Input::row(table, row, MaskVersion(version)).unwrap().bytes().to_vec());
        }
        for key in [&b""[..], b"\0", b"a", b"a\0"] {
            let input = Input::key("t", key, 2).unwrap();
            assert_eq!(input.bytes().len(), KEY.len() + 2 + 2 + 4);
            names.insert(input.bytes().to_vec());
        }
        assert_eq!(names.len(), 9);
        assert_eq!(Input::key("t", b"abc", 2).unwrap_err(), OprfError::Input);
        assert_eq!(Input::key("t", b"a", u32::MAX).unwrap_err(), OprfError::Input);
        assert_eq!(Input::row(&"t".repeat(256), 0, MaskVersion(1)).unwrap_err(), OprfError::Input);
    }
}

//! One spelling for each key, so that clients and builders of tables hash the same bytes.
//!
//! | module | contents |
//! |---|---|
//! | `domain` | host names, also international ones |
//! | `email` | mail addresses |
//! | `address` | IP addresses |
//! | `phone` | telephone numbers |
//! | [`unicode`] | Unicode normalization and A-labels |
//!
//! A table has one form, named in its catalog, and builder and client bring every key into it with
//! these functions. Both refuse invalid keys. No form strips white space: a key with some around it
//! is refused, or is another key.

mod address;
mod domain;
mod email;
mod phone;
pub mod unicode;

use super::Key;
use super::params::MAX_KEY_BYTES;
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::str::FromStr;
use unicode::normal;
use zeroize::Zeroizing;

/// The form of a table's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum KeyForm {
    /// Bytes, unchanged.
    Bytes,
    /// UTF-8 text in normalization form C, case-sensitive.
    Text,
    /// A domain name: A-labels in lower case, without a dot at the end.
    Domain,
    /// A mail address: the domain as in `Domain`, ASCII letters before the `@` in lower case, all
    /// else unchanged.
    Email,
    /// An IP address, 16 bytes: IPv6, or IPv4 as IPv6 maps it.
    Ip,
    /// The 16 bytes of 32 hexadecimal digits: MD5, and also NTLM.
    Md5,
    /// The 20 bytes of 40 hexadecimal digits.
    Sha1,
    /// The 32 bytes of 64 hexadecimal digits.
    Sha256,
    /// A telephone number of E.164: `+` and digits.
    Phone,
}

/// The reason why a key is not in its form. The error does not contain the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A key without bytes.
    #[error("the key is empty")]
    Empty,
    /// A key above the maximum length of the form.
    #[error("the key has more than {most} bytes")]
    Long {
        /// Maximum bytes of a key.
        most: u32,
    },
    /// Bytes that are not UTF-8.
    #[error("the key is not UTF-8 text")]
    NotText,
    /// Text that is not of the form.
    #[error("the key is not {0}")]
    Not(&'static str),
}

impl KeyForm {
    /// All forms.
    pub const ALL: [KeyForm; 9] = [
        KeyForm::Bytes,
        KeyForm::Text,
        KeyForm::Domain,
        KeyForm::Email,
        KeyForm::Ip,
        KeyForm::Md5,
        KeyForm::Sha1,
        KeyForm::Sha256,
        KeyForm::Phone,
    ];

    /// The name of the form in a catalog.
    pub fn name(self) -> &'static str {
        match self {
            KeyForm::Bytes => "bytes",
            KeyForm::Text => "text",
            KeyForm::Domain => "domain",
            KeyForm::Email => "email",
            KeyForm::Ip => "ip",
            KeyForm::Md5 => "md5",
            KeyForm::Sha1 => "sha1",
            KeyForm::Sha256 => "sha256",
            KeyForm::Phone => "phone",
        }
    }

    /// Bytes of the longest possible key.
    pub fn most_bytes(self) -> u32 {
        match self {
            KeyForm::Bytes | KeyForm::Text => MAX_KEY_BYTES,
            KeyForm::Domain => domain::MAX_BYTES,
            KeyForm::Email => email::MAX_BYTES,
            KeyForm::Ip | KeyForm::Md5 => 16,
            KeyForm::Phone => phone::MAX_BYTES,
            KeyForm::Sha1 => 20,
            KeyForm::Sha256 => 32,
        }
    }

    /// The default for the bytes of the longest key of a table. Longer text is rare, and every key
    /// is hashed at this length.
    pub fn usual_bytes(self) -> u32 {
        self.most_bytes().min(255)
    }

    /// The bytes to hash for a key as it was written.
    ///
    /// # Errors
    /// [`KeyError`] if the key is not of the form.
    pub fn canonical(self, key: &[u8]) -> Result<Key, KeyError> {
        if key.is_empty() {
            return Err(KeyError::Empty);
        }
        let text = || std::str::from_utf8(key).map_err(|_| KeyError::NotText);
        let canonical = match self {
            KeyForm::Bytes => Zeroizing::new(key.to_vec()),
            KeyForm::Text => normal(text()?)?,
            KeyForm::Domain => domain::canonical(text()?)?,
            KeyForm::Email => email::canonical(text()?)?,
            KeyForm::Ip => address::canonical(text()?)?,
            KeyForm::Md5 => digits(key, 16).ok_or(KeyError::Not("32 hexadecimal digits"))?,
            KeyForm::Phone => phone::canonical(key)?,
            KeyForm::Sha1 => digits(key, 20).ok_or(KeyError::Not("40 hexadecimal digits"))?,
            KeyForm::Sha256 => digits(key, 32).ok_or(KeyError::Not("64 hexadecimal digits"))?,
        };
        let most = self.most_bytes();
        if canonical.len() > most as usize {
            return Err(KeyError::Long { most });
        }
        Ok(canonical)
    }
}

impl FromStr for KeyForm {
    type Err = &'static str;
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        // Other hashes of 16 bytes have the same form.
        let name = if name == "ntlm" { KeyForm::Md5.name() } else { name };
        let known = KeyForm::ALL.into_iter().find(|form| form.name() == name);
        known.ok_or("a form is one of bytes, text, domain, email, ip, md5 (also ntlm), sha1, sha256, phone")
    }
}

/// Decodes `bytes` bytes from hexadecimal digits of either case. Only whether they are digits
/// decides a branch.
fn digits(text: &[u8], bytes: usize) -> Option<Key> {
    let (pairs, rest) = text.as_chunks::<2>();
    if pairs.len() != bytes || !rest.is_empty() {
        return None;
    }
    let mut out = Zeroizing::new(Vec::with_capacity(bytes));
    let mut wrong = 0;
    for pair in pairs {
        let [(high, not_high), (low, not_low)] = pair.map(digit);
        wrong |= not_high | not_low;
        out.push((high << 4 | low) as u8);
    }
    (black_box(wrong) == 0).then_some(out)
}

/// The value of a digit, and a mask: all ones if it is no digit, else zero.
fn digit(c: u8) -> (i32, i32) {
    let c = i32::from(c);
    let letter = c | 0x20;
    let (is_number, is_letter) = (among(c, 0x30, 0x3a), among(letter, 0x61, 0x67));
    (is_number & (c - 0x30) | is_letter & (letter - 0x57), !(is_number | is_letter))
}

/// All ones if `x` is from `from` on and below `to`, else zero.
fn among(x: i32, from: i32, to: i32) -> i32 {
    black_box(((x - to) & !(x - from)) >> 31)
}

#[cfg(test)]
mod tests;

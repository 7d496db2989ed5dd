//! One spelling for each key, so that whoever asks and whoever built the table hash the same bytes.
//!
//! | module | what lives there |
//! |---|---|
//! | `domain` | names of hosts, also international ones |
//! | `email` | addresses of mail |
//! | `address` | addresses of machines |
//! | `phone` | telephone numbers |
//! | [`unicode`] | what Unicode says of text |
//!
//! A table has one form, named in its catalog, and builder and client bring every key into it with these functions. What is no
//! such key is refused on both sides. No form takes white space away: a key with some around it is refused, or another key.

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

/// What keys are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Form {
    /// Bytes as they are.
    Bytes,
    /// UTF-8 text in normalization form C, of the same case.
    Text,
    /// A domain name: A-labels in lower case, without a dot at the end.
    Domain,
    /// A mail address: the domain as above, ASCII letters before the `@` in lower case, all else as it is.
    Email,
    /// An address, 16 bytes: IPv6, or IPv4 as IPv6 maps it.
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

/// Why a key is none of its form. The key is not in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// No bytes.
    #[error("the key is empty")]
    Empty,
    /// Longer than any key of the form.
    #[error("the key has more than {most} bytes")]
    Long {
        /// The longest there is.
        most: u32,
    },
    /// Bytes that are no text.
    #[error("the key is not UTF-8 text")]
    NotText,
    /// Text that is something else.
    #[error("the key is not {0}")]
    Not(&'static str),
}

impl Form {
    /// Every form.
    pub const ALL: [Form; 9] = [
        Form::Bytes,
        Form::Text,
        Form::Domain,
        Form::Email,
        Form::Ip,
        Form::Md5,
        Form::Sha1,
        Form::Sha256,
        Form::Phone,
    ];

    /// Its name in a catalog.
    pub fn name(self) -> &'static str {
        match self {
            Form::Bytes => "bytes",
            Form::Text => "text",
            Form::Domain => "domain",
            Form::Email => "email",
            Form::Ip => "ip",
            Form::Md5 => "md5",
            Form::Sha1 => "sha1",
            Form::Sha256 => "sha256",
            Form::Phone => "phone",
        }
    }

    /// Bytes of the longest key there can be.
    pub fn most_bytes(self) -> u32 {
        match self {
            Form::Bytes | Form::Text => MAX_KEY_BYTES,
            Form::Domain => domain::MOST_BYTES,
            Form::Email => email::MOST_BYTES,
            Form::Ip | Form::Md5 => 16,
            Form::Phone => phone::MOST_BYTES,
            Form::Sha1 => 20,
            Form::Sha256 => 32,
        }
    }

    /// Bytes of the longest key, where nothing is known of the table. Longer text is rare, and every key is hashed at this
    /// length.
    pub fn usual_bytes(self) -> u32 {
        self.most_bytes().min(255)
    }

    /// The bytes that are hashed for a key as it was written.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn canonical(self, key: &[u8]) -> Result<Key, KeyError> {
        if key.is_empty() {
            return Err(KeyError::Empty);
        }
        let text = || std::str::from_utf8(key).map_err(|_| KeyError::NotText);
        let canonical = match self {
            Form::Bytes => Zeroizing::new(key.to_vec()),
            Form::Text => normal(text()?)?,
            Form::Domain => domain::canonical(text()?)?,
            Form::Email => email::canonical(text()?)?,
            Form::Ip => address::canonical(text()?)?,
            Form::Md5 => digits(key, 16).ok_or(KeyError::Not("32 hexadecimal digits"))?,
            Form::Phone => phone::canonical(key)?,
            Form::Sha1 => digits(key, 20).ok_or(KeyError::Not("40 hexadecimal digits"))?,
            Form::Sha256 => digits(key, 32).ok_or(KeyError::Not("64 hexadecimal digits"))?,
        };
        let most = self.most_bytes();
        if canonical.len() > most as usize {
            return Err(KeyError::Long { most });
        }
        Ok(canonical)
    }
}

impl FromStr for Form {
    type Err = &'static str;
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        // Other hashes of 16 bytes are spelled alike.
        let name = if name == "ntlm" { Form::Md5.name() } else { name };
        let known = Form::ALL.into_iter().find(|form| form.name() == name);
        known.ok_or("a form is one of bytes, text, domain, email, ip, md5 (also ntlm), sha1, sha256, phone")
    }
}

/// The bytes of so many hexadecimal digits, of either case. Only whether they are digits decides a branch.
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

/// The value of a digit; and all ones if it is none, else zero.
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

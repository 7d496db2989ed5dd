//! One spelling for each key, so that clients and builders of tables hash the same bytes.
//!
//! A table has one form, named in its catalog, and builder and client bring every key into it with
//! these functions. Both refuse invalid keys. No form strips white space: a key with some around it
//! is refused, or is another key.

pub mod unicode;

use super::Key;
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::net::IpAddr;
use std::str::FromStr;
use unicode::normal;
use zeroize::Zeroizing;

/// Maximum bytes of a key of bytes or text.
pub const MAX_KEY_BYTES: u32 = 4096;

/// The form of a table's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    #[error("the key has more than {max} bytes")]
    Long {
        /// Maximum bytes of a key.
        max: u32,
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
    pub fn max_bytes(self) -> u32 {
        match self {
            KeyForm::Bytes | KeyForm::Text => MAX_KEY_BYTES,
            KeyForm::Domain => MAX_DOMAIN_BYTES,
            KeyForm::Email => MAX_EMAIL_BYTES,
            KeyForm::Ip | KeyForm::Md5 => 16,
            KeyForm::Phone => MAX_PHONE_BYTES,
            KeyForm::Sha1 => 20,
            KeyForm::Sha256 => 32,
        }
    }

    /// The default for the bytes of the longest key of a table. Longer text is rare, and every key
    /// is hashed at this length.
    pub fn default_bytes(self) -> u32 {
        self.max_bytes().min(255)
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
            KeyForm::Domain => canonical_domain(text()?)?,
            KeyForm::Email => canonical_email(text()?)?,
            KeyForm::Ip => canonical_ip_address(text()?)?,
            KeyForm::Md5 => digits(key, 16).ok_or(KeyError::Not("32 hexadecimal digits"))?,
            KeyForm::Phone => canonical_phone(key)?,
            KeyForm::Sha1 => digits(key, 20).ok_or(KeyError::Not("40 hexadecimal digits"))?,
            KeyForm::Sha256 => digits(key, 32).ok_or(KeyError::Not("64 hexadecimal digits"))?,
        };
        let max = self.max_bytes();
        if canonical.len() > max as usize {
            return Err(KeyError::Long { max });
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

const MAX_DOMAIN_BYTES: u32 = 253;

const NO_DOMAIN: KeyError = KeyError::Not("a domain name");

/// Host names.
///
/// Labels are mapped and checked by UTS 46 (non-transitional) and written as A-labels in lower
/// case, so that `Bücher.example`, `bücher。example` and `xn--bcher-kva.example.` are one key. A dot
/// at the end is removed. Labels have 1 to 63 bytes, the name at most 253. Underscores are allowed,
/// as names in the DNS have them, and hyphens anywhere. A name whose last label is a number is an
/// address and refused: the form `ip` is for those.
///
/// Tables of UTS 46 grow with Unicode. A name with characters that a build does not know yet is
/// refused by it.
fn canonical_domain(text: &str) -> Result<Key, KeyError> {
    // The work is bounded before it is done: no name of this many bytes becomes short enough.
    if text.len() > 16 * MAX_DOMAIN_BYTES as usize {
        return Err(KeyError::Long { max: MAX_DOMAIN_BYTES });
    }
    let name = unicode::ascii(text).ok_or(NO_DOMAIN)?;
    let name = name.strip_suffix('.').unwrap_or(&name);
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|c| c.is_ascii_digit())
        || last.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|c| c.is_ascii_hexdigit()));
    match is_number {
        true => Err(NO_DOMAIN),
        false => Ok(Zeroizing::new(name.as_bytes().to_vec())),
    }
}

const MAX_EMAIL_BYTES: u32 = 254;

const NO_ADDRESS: KeyError = KeyError::Not("a mail address");

/// Mail addresses.
///
/// The domain is that of the form `domain`. The part before the `@` is its owner's to interpret
/// (RFC 5321, 2.4), so nothing is removed: dots and the text after a `+` count. Only ASCII letters
/// become lower case, since no major provider distinguishes them and people do not write them
/// alike; other text is brought into normalization form C. It has at most 64 bytes, the whole
/// address 254 (RFC 5321, 4.5.3.1, where a path is that and two brackets). Quoted parts, white
/// space and control characters are refused, and so are the characters that RFC 5322 does not
/// allow.
fn canonical_email(text: &str) -> Result<Key, KeyError> {
    if text.len() > 16 * MAX_EMAIL_BYTES as usize {
        return Err(KeyError::Long { max: MAX_EMAIL_BYTES });
    }
    let (local, domain) = text.rsplit_once('@').ok_or(NO_ADDRESS)?;
    let refused = |c: char| match c.is_ascii() {
        true => !(c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~.".contains(c)),
        false => c.is_control() || c.is_whitespace(),
    };
    let dots = local.starts_with('.') || local.ends_with('.') || local.contains("..");
    let local = Zeroizing::new(normal(local)?.to_ascii_lowercase());
    if local.is_empty() || local.len() > 64 || dots {
        return Err(NO_ADDRESS);
    }
    // The check comes afterwards, since the normal form of some character might be one of those.
    let is_local = std::str::from_utf8(&local).is_ok_and(|local| !local.contains(refused));
    if !is_local {
        return Err(NO_ADDRESS);
    }
    let domain = canonical_domain(domain).map_err(|_| NO_ADDRESS)?;
    Ok(Zeroizing::new([&local[..], b"@", &domain[..]].concat()))
}

/// IP addresses: 16 bytes, for IPv4 those of the IPv6 address that it is mapped to (RFC 4291,
/// 2.5.5.2).
///
/// So `192.0.2.1`, `::ffff:192.0.2.1` and `::FFFF:c000:201` are one key. Zones, brackets, prefixes
/// and leading zeros in IPv4 are refused.
fn canonical_ip_address(text: &str) -> Result<Key, KeyError> {
    let bytes = match text.parse().map_err(|_| KeyError::Not("an IP address"))? {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    };
    Ok(Zeroizing::new(bytes.to_vec()))
}

const MAX_PHONE_BYTES: u32 = 16;

const NO_NUMBER: KeyError =
    KeyError::Not("a telephone number of E.164 (+15550000007: a plus sign, 7 to 15 digits, no spaces)");

/// Telephone numbers, as E.164 writes them and phones request them: `+`, and 7 to 15 digits of
/// which the first is no zero. Whether the text is a number, and its length, are all that decides a
/// branch.
///
/// Signs between the digits are refused: removing them would make the time depend on where they
/// are. Readers of publishers' files remove them before. Numbers without a country are refused,
/// since their meaning depends on the caller's location.
fn canonical_phone(text: &[u8]) -> Result<Key, KeyError> {
    let Some((plus, digits)) = text.split_first().filter(|(_, digits)| (7..=15).contains(&digits.len()))
    else {
        return Err(NO_NUMBER);
    };
    let mut wrong = i32::from(plus ^ b'+');
    for (i, digit) in digits.iter().enumerate() {
        wrong |= !among(i32::from(*digit), 0x30 + i32::from(i == 0), 0x3a);
    }
    match black_box(wrong) {
        0 => Ok(Zeroizing::new(text.to_vec())),
        _ => Err(NO_NUMBER),
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

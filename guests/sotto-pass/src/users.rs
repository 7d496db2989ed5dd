//! The file of users who may have tokens, with a line for each user and tier.
//!
//! ```text
//! # tier   the user's secret
//! free     c0ffee-4711
//! paid     sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae
//! ```
//!
//! The file contains either the secret that a user was given, or its SHA-256, so that it gives no
//! access to someone who reads it.

use crate::issuer_keys::MAX_TIERS;
use crate::message::sha256;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{Hash, Hasher};
use subtle::ConstantTimeEq;

/// Largest size of a user's secret in bytes.
const MAX_BYTES: usize = 1024;

/// Users and their tiers.
#[derive(Debug, Clone, Default)]
pub struct UserTiers {
    tiers: Vec<String>,
    /// Index of the tier of each digest.
    users: HashMap<TokenDigest, u16>,
}

/// SHA-256 of a user's secret. Digests are compared in constant time; their places in the map
/// depend on the map's own random key.
#[derive(Debug, Clone, Copy, Eq)]
struct TokenDigest([u8; 32]);

impl PartialEq for TokenDigest {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Hash for TokenDigest {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// Error in a line of the users file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct UserLineError {
    /// Number of the line, from 1.
    pub line: usize,
    /// Problem of the line.
    pub why: &'static str,
}

impl UserTiers {
    /// Parses a users file.
    ///
    /// # Errors
    /// [`UserLineError`].
    pub fn parse(text: &str) -> Result<Self, UserLineError> {
        let mut users = UserTiers::default();
        for (i, line) in text.lines().enumerate() {
            let bad = |why| UserLineError { line: i + 1, why };
            let mut words = line.split_ascii_whitespace();
            let Some(tier) = words.next().filter(|word| !word.starts_with('#')) else { continue };
            let given =
                words.next().ok_or(bad("expected a tier and the user's token, separated by a space"))?;
            if words.next().is_some_and(|word| !word.starts_with('#')) {
                return Err(bad("unexpected text after the tier and the user's token"));
            }
            let digest = match given.strip_prefix("sha256:") {
                Some(hex) => digest(hex).ok_or(bad("expected 64 hexadecimal digits after sha256:"))?,
                None => sha256(given.as_bytes()),
            };
            let tier = users.tier(tier).ok_or(bad("more than 64 tiers"))?;
            match users.users.entry(TokenDigest(digest)) {
                Entry::Vacant(entry) => entry.insert(tier),
                Entry::Occupied(_) => return Err(bad("the user is listed twice")),
            };
        }
        Ok(users)
    }

    fn tier(&mut self, name: &str) -> Option<u16> {
        if let Some(at) = self.tiers.iter().position(|tier| tier == name) {
            return Some(at as u16);
        }
        self.tiers.push(name.into());
        (self.tiers.len() <= MAX_TIERS).then_some((self.tiers.len() - 1) as u16)
    }

    /// Names of all tiers.
    pub fn tiers(&self) -> &[String] {
        &self.tiers
    }

    /// Number of users.
    pub fn len(&self) -> usize {
        self.users.len()
    }

    /// Whether there are no users.
    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// Tier of the user with this secret, and the digest under which the user's tokens are counted.
    /// The lookup is by digest, so that its duration reveals nothing about the secrets in the file.
    pub fn find(&self, given: &str) -> Option<(&str, [u8; 32])> {
        if given.len() > MAX_BYTES {
            return None;
        }
        let digest = sha256(given.as_bytes());
        let tier =
            self.users.get(&TokenDigest(digest)).and_then(|tier| self.tiers.get(usize::from(*tier)))?;
        Some((tier, digest))
    }
}

fn digest(hex: &str) -> Option<[u8; 32]> {
    let mut out = [0; 32];
    if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, digits) in out.iter_mut().zip(hex.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_tier_and_what_the_user_was_given() {
        let hex = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
        let users =
            UserTiers::parse(&format!("# all\n\nfree c0ffee # one\n  paid\tsha256:{hex}\r\nfree x\n"))
                .unwrap();
        assert_eq!((users.len(), users.tiers()), (3, &["free".to_owned(), "paid".to_owned()][..]));
        assert_eq!(users.find("c0ffee").unwrap().0, "free");
        assert_eq!(users.find("foo").unwrap().0, "paid", "hex is the digest of it");
        assert!(
            users.find("bar").is_none()
                && users.find("").is_none()
                && users.find(&"x".repeat(2000)).is_none()
        );
    }

    #[test]
    fn a_bad_line_is_named() {
        let many: String = (0..65).map(|i| format!("t{i} u{i}\n")).collect();
        let bad = [("a b\nfree", 2), ("a b c", 1), ("a b\nc b", 2), ("a sha256:00", 1), (many.as_str(), 65)];
        for (text, line) in bad {
            assert_eq!(UserTiers::parse(text).unwrap_err().line, line, "{text}");
        }
        let signs = format!("a sha256:+{}", "0".repeat(63));
        assert!(UserTiers::parse(&signs).is_err(), "a sign is no digit");
    }
}

//! Who may have tokens, and of which tier: a file with a line for each user.
//!
//! ```text
//! # tier   what the user's app was given
//! free     c0ffee-4711
//! paid     sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae
//! ```
//!
//! What a user was given may stand there itself, or its SHA-256, so that the file opens nothing to whoever reads it.

use crate::issuer_keys::MAX_TIERS;
use crate::message::sha256;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{Hash, Hasher};
use subtle::ConstantTimeEq;

/// Bytes of what a user was given, at most.
const MAX_BYTES: usize = 1024;

/// Users and their tiers.
#[derive(Debug, Clone, Default)]
pub struct UserTiers {
    tiers: Vec<String>,
    /// The tier of each digest.
    users: HashMap<TokenDigest, u16>,
}

/// The SHA-256 of what a user was given. Two are compared in a time that does not depend on where they differ; where the map
/// looks for one follows from a secret of its own.
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

/// A line that is no user's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct UserLineError {
    /// Its number, from 1 on.
    pub line: usize,
    /// What is wrong with it.
    pub why: &'static str,
}

impl UserTiers {
    /// Reads a file.
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
                words.next().ok_or(bad("a tier and what the user was given, with a space between them"))?;
            if words.next().is_some_and(|word| !word.starts_with('#')) {
                return Err(bad("more than a tier and what the user was given"));
            }
            let digest = match given.strip_prefix("sha256:") {
                Some(hex) => digest(hex).ok_or(bad("after sha256: come 64 hexadecimal digits"))?,
                None => sha256(given.as_bytes()),
            };
            let tier = users.tier(tier).ok_or(bad("there are more than 64 tiers"))?;
            match users.users.entry(TokenDigest(digest)) {
                Entry::Vacant(entry) => entry.insert(tier),
                Entry::Occupied(_) => return Err(bad("a user who was listed before")),
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

    /// All tiers.
    pub fn tiers(&self) -> &[String] {
        &self.tiers
    }

    /// How many users there are.
    pub fn len(&self) -> usize {
        self.users.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// The tier of whoever was given this, and the name that it is counted under. Looked up by its digest, so that the time
    /// this takes says nothing of those in the file.
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

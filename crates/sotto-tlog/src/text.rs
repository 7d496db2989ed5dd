//! Canonical text forms of numbers and hashes in logs.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sotto_tree::log::Hash;

/// Parses a decimal number without leading zeros.
pub(crate) fn decimal(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let canonical = text == "0" || !text.starts_with('0');
    if digits && canonical { text.parse().ok() } else { None }
}

/// Decodes base64 of RFC 4648, section 4, with its padding and without stray bits.
pub(crate) fn unbase64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// Encodes base64 of RFC 4648, section 4, with padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes a hash in base64.
pub(crate) fn hash(text: &str) -> Option<Hash> {
    // The length is checked first: no text is decoded into more bytes than expected.
    if text.len() != 44 { None } else { unbase64(text)?.try_into().ok() }
}

//! Host names.
//!
//! Labels are mapped and checked by UTS 46 (non-transitional) and written as A-labels in lower
//! case, so that `Bücher.example`, `bücher。example` and `xn--bcher-kva.example.` are one key. A dot
//! at the end is removed. Labels have 1 to 63 bytes, the name at most 253. Underscores are allowed,
//! as names in the DNS have them, and hyphens anywhere. A name whose last label is a number is an
//! address and refused: the form `ip` is for those.
//!
//! Tables of UTS 46 grow with Unicode. A name with characters that a build does not know yet is
//! refused by it.

use super::{Key, KeyError, unicode};
use zeroize::Zeroizing;

pub(super) const MAX_BYTES: u32 = 253;

const NO_DOMAIN: KeyError = KeyError::Not("a domain name");

pub(super) fn canonical(text: &str) -> Result<Key, KeyError> {
    // The work is bounded before it is done: no name of this many bytes becomes short enough.
    if text.len() > 16 * MAX_BYTES as usize {
        return Err(KeyError::Long { most: MAX_BYTES });
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

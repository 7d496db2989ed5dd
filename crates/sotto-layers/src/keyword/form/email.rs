//! Mail addresses.
//!
//! The domain is that of the form `domain`. The part before the `@` is its owner's to interpret
//! (RFC 5321, 2.4), so nothing is removed: dots and the text after a `+` count. Only ASCII letters
//! become lower case, since no major provider distinguishes them and people do not write them
//! alike; other text is brought into normalization form C. It has at most 64 bytes, the whole
//! address 254 (RFC 5321, 4.5.3.1, where a path is that and two brackets). Quoted parts, white
//! space and control characters are refused, and so are the characters that RFC 5322 does not
//! allow.

use super::{Key, KeyError, domain, normal};
use zeroize::Zeroizing;

pub(super) const MAX_BYTES: u32 = 254;

const NO_ADDRESS: KeyError = KeyError::Not("a mail address");

pub(super) fn canonical(text: &str) -> Result<Key, KeyError> {
    if text.len() > 16 * MAX_BYTES as usize {
        return Err(KeyError::Long { most: MAX_BYTES });
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
    let domain = domain::canonical(domain).map_err(|_| NO_ADDRESS)?;
    Ok(Zeroizing::new([&local[..], b"@", &domain[..]].concat()))
}

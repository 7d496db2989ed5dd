//! What a browser says of Unicode: see [`give`].
//!
//! The host of a URL is what the form `domain` wants (WHATWG's *URL*, 3.3, is UTS 46, non-transitional, with hyphens anywhere), so
//! only lengths are looked at here, and what would not be part of the host. ASCII is its own normal form, and its names need nobody.

use crate::keyword::Key;
use crate::keyword::form::KeyError;
use std::cell::OnceCell;
use zeroize::Zeroizing;

/// What a browser's program gives.
pub trait Unicode {
    /// Text in normalization form C.
    fn normal(&self, text: &str) -> Option<String>;
    /// The host of `http://TEXT/`, as URLs have it; `None` if that is none.
    fn host(&self, text: &str) -> Option<String>;
}

thread_local! {
    static GIVEN: OnceCell<Box<dyn Unicode>> = const { OnceCell::new() };
}

/// Gives keys what is known of Unicode, once. Without it a key that is not ASCII is refused. Gives whether this was the first.
pub fn give(unicode: Box<dyn Unicode>) -> bool {
    GIVEN.with(|given| given.set(unicode).is_ok())
}

fn ask(work: impl FnOnce(&dyn Unicode) -> Option<String>) -> Option<Zeroizing<String>> {
    GIVEN.with(|given| given.get().and_then(|given| work(&**given)).map(Zeroizing::new))
}

/// Text in normalization form C.
pub(in super::super) fn normal(text: &str) -> Result<Key, KeyError> {
    if text.is_ascii() {
        return Ok(Zeroizing::new(text.as_bytes().to_vec()));
    }
    let normal =
        ask(|given| given.normal(text)).ok_or(KeyError::Not("of ASCII, and nobody knows Unicode here"))?;
    Ok(Zeroizing::new(normal.as_bytes().to_vec()))
}

/// A name of a host in A-labels; `None` if it is none.
pub(in super::super) fn ascii(text: &str) -> Option<Zeroizing<String>> {
    if text.contains(is_refused) {
        return None;
    }
    let lower = Zeroizing::new(text.to_ascii_lowercase());
    let is_plain = lower.is_ascii() && !lower.split('.').any(|label| label.starts_with("xn--"));
    let name = if is_plain { lower } else { ask(|given| given.host(text))? };
    let labels = name.strip_suffix('.').unwrap_or(&name);
    let is_name = labels.len() <= 253 && labels.split('.').all(|label| (1..=63).contains(&label.len()));
    (is_name && labels.is_ascii() && !labels.contains(is_refused)).then_some(name)
}

/// What no name has: WHATWG's *forbidden domain code points*, which end a host, or are refused in one.
fn is_refused(c: char) -> bool {
    matches!(c, '\0'..=' ' | '\x7f') || "%#/:<>?@[\\]^|".contains(c)
}

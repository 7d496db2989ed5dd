//! Unicode functions with tables of this crate.

use crate::keyword::Key;
use crate::keyword::form::KeyError;
use idna::AsciiDenyList;
use idna::uts46::{DnsLength, Hyphens, Uts46};
use unicode_normalization::UnicodeNormalization;
use zeroize::Zeroizing;

/// Text in normalization form C. The form of characters that Unicode has today will not change.
pub(in super::super) fn normal(text: &str) -> Result<Key, KeyError> {
    let mut normal = Zeroizing::new(Vec::with_capacity(text.len()));
    for c in text.nfc() {
        normal.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
    Ok(normal)
}

/// A host name in A-labels; `None` if it is invalid.
pub(in super::super) fn ascii(text: &str) -> Option<Zeroizing<String>> {
    let name = Uts46::new().to_ascii(
        text.as_bytes(),
        AsciiDenyList::URL,
        Hyphens::Allow,
        DnsLength::VerifyAllowRootDot,
    );
    name.ok().map(|name| Zeroizing::new(name.into_owned()))
}

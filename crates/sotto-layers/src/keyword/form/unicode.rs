//! Unicode normalization form C, and host names in ASCII.
//!
//! | module | contents |
//! |---|---|
//! | `tables` | with tables of this crate |
//! | `host` | with functions of the caller, for `wasm32-unknown-unknown`: every browser has them, and these tables are a third of a small program |
//!
//! Both modules have the same two functions.

#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
pub use host::{HostUnicode, set_host_unicode};
#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
pub(super) use host::{ascii, normal};
#[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
pub(super) use tables::{ascii, normal};

#[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
mod tables {
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
}

#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
mod host {
    //! Unicode functions of a browser, set with [`set_host_unicode`].
    //!
    //! The host of a URL has the form `domain` (WHATWG's *URL*, 3.3: UTS 46, non-transitional, hyphens
    //! anywhere). So this module checks only lengths, characters that would not be part of the host,
    //! and A-labels. ASCII is its own normal form, and ASCII names without A-labels need no browser.

    use crate::keyword::Key;
    use crate::keyword::form::KeyError;
    use std::cell::OnceCell;
    use zeroize::Zeroizing;

    /// The Unicode functions of a browser.
    pub trait HostUnicode {
        /// Text in normalization form C.
        fn normal(&self, text: &str) -> Option<String>;
        /// The host of `http://TEXT/`, as URLs have it; `None` if the text is no host.
        fn host(&self, text: &str) -> Option<String>;
    }

    thread_local! {
        static HOST: OnceCell<Box<dyn HostUnicode>> = const { OnceCell::new() };
    }

    /// Sets the Unicode functions, once. Without them a key that is not ASCII is refused. Returns
    /// whether this was the first call.
    pub fn set_host_unicode(unicode: Box<dyn HostUnicode>) -> bool {
        HOST.with(|given| given.set(unicode).is_ok())
    }

    fn with_host(work: impl FnOnce(&dyn HostUnicode) -> Option<String>) -> Option<Zeroizing<String>> {
        HOST.with(|given| given.get().and_then(|given| work(&**given)).map(Zeroizing::new))
    }

    /// Text in normalization form C.
    pub(in super::super) fn normal(text: &str) -> Result<Key, KeyError> {
        if text.is_ascii() {
            return Ok(Zeroizing::new(text.as_bytes().to_vec()));
        }
        let normal = with_host(|given| given.normal(text))
            .ok_or(KeyError::Not("of ASCII, and no Unicode functions are set"))?;
        Ok(Zeroizing::new(normal.as_bytes().to_vec()))
    }

    /// A host name in A-labels; `None` if it is invalid.
    pub(in super::super) fn ascii(text: &str) -> Option<Zeroizing<String>> {
        if text.contains(is_refused) {
            return None;
        }
        let lower = Zeroizing::new(text.to_ascii_lowercase());
        let name = if lower.is_ascii() && !lower.split('.').any(is_ace) { lower } else { host_name(&lower)? };
        let labels = name.strip_suffix('.').unwrap_or(&name);
        let is_name = labels.len() <= 253 && labels.split('.').all(|label| (1..=63).contains(&label.len()));
        (is_name && labels.is_ascii() && !labels.contains(is_refused)).then_some(name)
    }

    /// A host name in A-labels, from the browser. Some browsers do not check labels that are A-labels
    /// already, so those are decoded first, and the result has to be the original.
    fn host_name(lower: &str) -> Option<Zeroizing<String>> {
        let mut meant = Zeroizing::new(String::with_capacity(4 * lower.len()));
        for (place, label) in lower.split('.').enumerate() {
            if place > 0 {
                meant.push('.');
            }
            match label.strip_prefix(ACE).filter(|_| is_ace(label)) {
                Some(code) => {
                    let label = Zeroizing::new(idna::punycode::decode_to_string(code)?);
                    if label.is_ascii() {
                        return None;
                    }
                    meant.push_str(&label);
                }
                None => meant.push_str(label),
            }
        }
        let host = with_host(|given| given.host(&meant))?;
        // Some browsers write an asterisk so that it can stand in a path too.
        let plain = |label: &str| if is_ace(label) { label.to_owned() } else { label.replace("%2A", "*") };
        let name = Zeroizing::new(host.split('.').map(plain).collect::<Vec<_>>().join("."));
        let came_back = |label: &str| name.split('.').any(|other| other == label);
        lower.split('.').filter(|label| is_ace(label)).all(came_back).then_some(name)
    }

    /// The prefix of an A-label.
    const ACE: &str = "xn--";

    fn is_ace(label: &str) -> bool {
        label.is_ascii() && label.starts_with(ACE)
    }

    /// Characters that no name has: WHATWG's *forbidden domain code points*, which end a host or are
    /// refused in one; and characters that map to a percent sign, which some browsers take for the
    /// beginning of an escape.
    fn is_refused(c: char) -> bool {
        matches!(c, '\0'..=' ' | '\x7f' | '\u{fe6a}' | '\u{ff05}') || "%#/:<>?@[\\]^|".contains(c)
    }
}

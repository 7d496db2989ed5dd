//! The domain names in a certificate, for a demo: what follows the identifier of `subjectAltName`
//! (RFC 5280, 4.2.1.6), without reading the rest of the certificate. Code that bases decisions on
//! the names should parse the certificate.

/// Object identifier 2.5.29.17 (`06 03 55 1d 11`), with its tag and length.
const SUBJECT_ALT_NAME: [u8; 5] = [0x06, 0x03, 0x55, 0x1d, 0x11];
const BOOLEAN: u8 = 0x01;
const OCTET_STRING: u8 = 0x04;
const SEQUENCE: u8 = 0x30;
/// Tag of a `GeneralName`'s choice 2.
const DNS_NAME: u8 = 0x82;

/// The names, as they are written; none if they cannot be read.
pub(super) fn of(certificate: &[u8]) -> Vec<&str> {
    let places = certificate.windows(SUBJECT_ALT_NAME.len());
    let found = places.enumerate().find(|(_, bytes)| *bytes == SUBJECT_ALT_NAME);
    let after = found.and_then(|(at, _)| certificate.get(at + SUBJECT_ALT_NAME.len()..));
    after.and_then(general_names).unwrap_or_default()
}

fn general_names(mut rest: &[u8]) -> Option<Vec<&str>> {
    let (mut tag, mut value) = element(&mut rest)?;
    if tag == BOOLEAN {
        // The extension may be critical or not.
        (tag, value) = element(&mut rest)?;
    }
    let (inner, mut names) = element(&mut value).filter(|_| tag == OCTET_STRING)?;
    let mut found = Vec::new();
    while inner == SEQUENCE && !names.is_empty() {
        let (kind, name) = element(&mut names)?;
        if let (DNS_NAME, Ok(name)) = (kind, std::str::from_utf8(name)) {
            found.push(name);
        }
    }
    Some(found)
}

/// Splits a tag and a value from the front (X.690, 8.1): lengths have at most three bytes, which is
/// more than an entry of a log has.
fn element<'a>(rest: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (tag, after) = rest.split_first()?;
    let (first, mut after) = after.split_first()?;
    let mut length = usize::from(*first);
    if *first >= 0x80 {
        let bytes = usize::from(first & 0x7f);
        let (digits, beyond) = after.split_at_checked(bytes).filter(|_| (1..=3).contains(&bytes))?;
        length = digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit));
        after = beyond;
    }
    let (value, beyond) = after.split_at_checked(length)?;
    *rest = beyond;
    Some((*tag, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A certificate with nothing but the extension.
    fn with(names: &[(u8, &str)], critical: bool) -> Vec<u8> {
        let wrap = |tag: u8, value: &[u8]| {
            [&[tag, 0x82, (value.len() >> 8) as u8, value.len() as u8], value].concat()
        };
        let list: Vec<u8> = names
            .iter()
            .flat_map(|(tag, name)| [&[*tag, name.len() as u8], name.as_bytes()].concat())
            .collect();
        let flag: &[u8] = if critical { &[BOOLEAN, 1, 0xff] } else { &[] };
        let value = wrap(OCTET_STRING, &wrap(SEQUENCE, &list));
        [b"what is before".as_slice(), &SUBJECT_ALT_NAME, flag, &value, b"what is after"].concat()
    }

    #[test]
    fn names_are_found_and_other_kinds_left_out() {
        let names = [(DNS_NAME, "a.example"), (0x81, "mail@a.example"), (DNS_NAME, "*.b.example")];
        for critical in [false, true] {
            assert_eq!(of(&with(&names, critical)), ["a.example", "*.b.example"]);
        }
        assert!(of(b"no such extension").is_empty() && of(&with(&[], false)).is_empty());
    }

    #[test]
    fn whatever_is_cut_or_changed_is_read_to_an_end() {
        let whole = with(&[(DNS_NAME, "a.example"), (DNS_NAME, "b.example")], true);
        for end in 0..whole.len() {
            assert!(of(&whole[..end]).len() <= 2);
        }
        for at in 0..whole.len() {
            for value in 0..=255 {
                let mut other = whole.clone();
                other[at] = value;
                of(&other);
            }
        }
        // A length of indefinite form, and one of more bytes than are read.
        for length in [&[0x80][..], &[0x84, 0, 0, 0, 1], &[0xff]] {
            assert!(of(&[&SUBJECT_ALT_NAME, &[OCTET_STRING][..], length, b"abcdef"].concat()).is_empty());
        }
    }
}

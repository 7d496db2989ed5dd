//! One byte range (RFC 9110, section 14).

use std::ops::Range;

/// What a `Range` header selects of `len` bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RangeSelection {
    /// The whole resource: there is no range, several, or none that this server understands, which
    /// the RFC lets it ignore.
    All,
    /// The bytes of this range, which is not empty.
    Part(Range<u64>),
    /// A range beyond the end.
    Outside,
}

/// Parses a `Range` header.
pub(super) fn parse(header: Option<&str>, len: u64) -> RangeSelection {
    let Some((first, last)) = header.and_then(|h| h.strip_prefix("bytes=")).and_then(|h| h.split_once('-'))
    else {
        return RangeSelection::All;
    };
    let (first, last) = (first.trim(), last.trim());
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if !digits(first) || !digits(last) || (first.is_empty() && last.is_empty()) {
        return RangeSelection::All;
    }
    // A number too large for a u64 is past any end.
    let number = |s: &str| s.parse::<u64>().unwrap_or(u64::MAX);
    let part = match (first.is_empty(), last.is_empty()) {
        (true, _) => len.saturating_sub(number(last))..len,
        (_, true) => number(first)..len,
        _ if number(first) > number(last) => return RangeSelection::All,
        _ => number(first)..number(last).saturating_add(1).min(len),
    };
    if part.start < part.end { RangeSelection::Part(part) } else { RangeSelection::Outside }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_as_the_rfc_says() {
        let of = |header| parse(Some(header), 10);
        assert_eq!(of("bytes=0-0"), RangeSelection::Part(0..1));
        assert_eq!(of("bytes=2-4"), RangeSelection::Part(2..5));
        assert_eq!(of("bytes=2-"), RangeSelection::Part(2..10));
        assert_eq!(of("bytes=2-99999999999999999999999"), RangeSelection::Part(2..10));
        assert_eq!(of("bytes=-3"), RangeSelection::Part(7..10));
        assert_eq!(of("bytes=-30"), RangeSelection::Part(0..10));
        for outside in ["bytes=10-", "bytes=10-12", "bytes=-0", "bytes=99999999999999999999999-"] {
            assert_eq!(of(outside), RangeSelection::Outside, "{outside}");
        }
        for ignored in
            ["bytes=0-1,3-4", "bytes=5-4", "bytes=-", "bytes=a-b", "rows=0-1", "bytes 0-1", "bytes=--1"]
        {
            assert_eq!(of(ignored), RangeSelection::All, "{ignored}");
        }
        assert_eq!(parse(None, 10), RangeSelection::All);
        assert_eq!(parse(Some("bytes=0-0"), 0), RangeSelection::Outside);
    }
}

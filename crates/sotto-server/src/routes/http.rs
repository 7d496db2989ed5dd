//! Entity tags and byte ranges of HTTP (RFC 9110, sections 8.8.3, 13.1 and 14).

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, header};
use std::ops::Range;

/// Whether `If-None-Match` names this tag: the client has the bytes. The comparison is weak, as the
/// RFC demands.
pub(super) fn none_match(headers: &HeaderMap, etag: &str) -> bool {
    let values = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|list| list.split(',')).any(|tag| {
        let tag = tag.trim();
        tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag
    })
}

/// Whether a `Range` may be honored: there is no `If-Range`, or it names this tag.
pub(super) fn range_holds(headers: &HeaderMap, etag: &str) -> bool {
    headers.get(header::IF_RANGE).is_none_or(|value| value.as_bytes() == etag.as_bytes())
}

/// Sets the tag, unless it is no valid header value, which does not happen for a digest.
pub(super) fn put_etag(response: &mut Response<Body>, etag: &str) {
    if let Ok(value) = HeaderValue::from_str(etag) {
        response.headers_mut().insert(header::ETAG, value);
    }
}

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
pub(super) fn parse_range(header: Option<&str>, len: u64) -> RangeSelection {
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
        let of = |header| parse_range(Some(header), 10);
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
        assert_eq!(parse_range(None, 10), RangeSelection::All);
        assert_eq!(parse_range(Some("bytes=0-0"), 0), RangeSelection::Outside);
    }
}

//! Entity tags (RFC 9110, section 8.8.3 and 13.1).

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, header};

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
pub(super) fn put(response: &mut Response<Body>, etag: &str) {
    if let Ok(value) = HeaderValue::from_str(etag) {
        response.headers_mut().insert(header::ETAG, value);
    }
}

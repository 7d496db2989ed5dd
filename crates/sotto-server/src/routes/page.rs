//! The files of a web page, and the restrictions that a browser enforces on them.

use super::artifacts::{none_match, put_etag};
use crate::host::shared;
use crate::service::Service;
use crate::static_site::{SiteFile, StaticSite};
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use axum::routing::get;
use std::sync::Arc;

/// Everything is loaded from this server and sent to it: no inline script, no frame around the
/// page, no form, and no access from the window that opened it.
const HEADERS: &[(&str, &str)] = &[
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; style-src 'self'; \
         img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-embedder-policy", "require-corp"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-cache"),
];

/// A route for each file, so that other files are not found.
pub(super) fn routes(page: &StaticSite) -> Router<Arc<Service>> {
    page.leaves().fold(Router::new(), |router, leaf| {
        let file = leaf.clone();
        router.route(&leaf.path, get(move |headers: HeaderMap| async move { response(&file, &headers) }))
    })
}

fn response(leaf: &SiteFile, headers: &HeaderMap) -> Response<Body> {
    let fresh = none_match(headers, &leaf.etag);
    let mut response = Response::new(if fresh { Body::empty() } else { Body::from(leaf.bytes.clone()) });
    if fresh {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(leaf.kind));
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    put_etag(&mut response, &leaf.etag);
    shared(response)
}

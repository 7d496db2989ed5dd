//! Origins of web pages that may read responses.

use axum::http::header;
use axum::http::{HeaderMap, HeaderValue};
use std::sync::Arc;

/// The origins whose pages may make requests.
#[derive(Debug, Clone)]
pub(crate) struct AllowedOrigins(pub(crate) Arc<[String]>);

/// Value that stands for all origins.
const ANY: &str = "*";

impl AllowedOrigins {
    pub(crate) fn new(allowed: &[String]) -> Self {
        AllowedOrigins(allowed.into())
    }

    pub(crate) fn allow(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(header::ORIGIN)?;
        self.0.iter().any(|allowed| allowed == ANY || allowed.as_bytes() == origin).then(|| origin.clone())
    }
}

/// Whether a text is an origin as browsers send it, or stands for all.
pub(crate) fn is_origin(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let plain = |host: &str| {
        host.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.:[]_".contains(&b))
    };
    text == ANY || host.is_some_and(|host| !host.is_empty() && plain(host))
}

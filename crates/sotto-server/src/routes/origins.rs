//! Requests of web pages: a browser lets a page of this server's own origin read answers, and
//! others only if the server allows it (the Fetch standard's CORS protocol). Programs other than
//! browsers ignore this.

use crate::config::ANY_ORIGIN;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use axum::middleware::Next;
use std::sync::Arc;

/// Answers a browser's preflight request, and adds the permission to every response.
pub(super) async fn allow(
    State(origins): State<AllowedOrigins>,
    request: Request,
    next: Next,
) -> Response<Body> {
    let Some(origin) = origins.allow(request.headers()) else {
        let mut response = next.run(request).await;
        // A cache must not give a response without permission to a page that has it.
        if !origins.0.is_empty() {
            vary(&mut response);
        }
        return response;
    };
    let is_question = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = match is_question {
        true => leave(),
        false => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    let exposed = "retry-after, server-timing";
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(exposed));
    vary(&mut response);
    response
}

/// Tells caches that a response depends on the origin of the page.
fn vary(response: &mut Response<Body>) {
    response.headers_mut().append(header::VARY, HeaderValue::from_static("origin"));
}

/// The preflight response: which methods and headers a page may send, without cookies. It is valid
/// for a day.
fn leave() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let all: [(HeaderName, &'static str); 3] = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "content-type, if-none-match, range"),
        (header::ACCESS_CONTROL_MAX_AGE, "86400"),
    ];
    for (name, value) in all {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The origins whose pages may make requests.
#[derive(Debug, Clone)]
pub(crate) struct AllowedOrigins(Arc<[String]>);

impl AllowedOrigins {
    pub(crate) fn new(allowed: &[String]) -> Self {
        AllowedOrigins(allowed.into())
    }

    fn allow(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(header::ORIGIN)?;
        self.0
            .iter()
            .any(|allowed| allowed == ANY_ORIGIN || allowed.as_bytes() == origin)
            .then(|| origin.clone())
    }
}

//! Problems as responses.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use sotto_wire::{Code, Problem, routes};

/// Seconds until a refused request may succeed.
const RETRY_AFTER: &str = "1";

/// A problem on its way out.
#[derive(Debug)]
pub(crate) struct Refusal(pub(crate) Problem);

impl Refusal {
    pub(crate) fn new(code: Code, message: &'static str) -> Self {
        Refusal(Problem::new(code, message))
    }

    /// The problem of a code whose name says it all.
    pub(crate) fn of(code: Code) -> Self {
        let message = match code {
            Code::Busy => "the queue is full",
            Code::Deadline => "the ask waited too long and was dropped",
            Code::ShuttingDown => "the server is shutting down",
            Code::BadQuery => "a query is not one these parameters allow",
            Code::Internal => "the server failed",
            _ => "the request was refused",
        };
        Refusal::new(code, message)
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Refusal(problem)
    }
}

impl From<Code> for Refusal {
    fn from(code: Code) -> Self {
        Refusal::of(code)
    }
}

impl From<sotto_wire::FrameError> for Refusal {
    fn from(error: sotto_wire::FrameError) -> Self {
        Refusal(Problem::new(error.code(), error.to_string()))
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response<Body> {
        let code = self.0.code;
        let mut response = Response::new(Body::from(self.0.to_bytes()));
        *response.status_mut() =
            StatusCode::from_u16(code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(routes::PROBLEM_JSON));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if matches!(code.status(), 429 | 503) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER));
        }
        // For the metrics: the outcome's label.
        response.extensions_mut().insert(code);
        response
    }
}

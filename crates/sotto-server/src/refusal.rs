//! Problems as responses.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use sotto_wire::{Code, Problem, routes};

/// Seconds after which a refused request may succeed, by default.
const RETRY_AFTER: u64 = 1;

/// A problem to respond with, and the seconds after which to retry.
#[derive(Debug)]
pub(crate) struct Refusal(pub(crate) Problem, pub(crate) u64);

impl Refusal {
    pub(crate) fn new(code: Code, message: &'static str) -> Self {
        Problem::new(code, message).into()
    }

    /// Sets the seconds after which the request may be tried again.
    pub(crate) fn after(self, seconds: u64) -> Self {
        Refusal(self.0, seconds.max(RETRY_AFTER))
    }

    /// The refusal for a code that needs no further text.
    pub(crate) fn of(code: Code) -> Self {
        let message = match code {
            Code::Busy => "the queue is full",
            Code::Deadline => "the request waited too long in the queue and was dropped",
            Code::NotReady => "the table's image is lost until the operator restores it",
            Code::ShuttingDown => "the server is shutting down",
            Code::BadQuery => "invalid query for these parameters",
            Code::BadElement => "an element is not in the group, or is its identity",
            Code::Internal => "the server failed",
            _ => "the request was refused",
        };
        Refusal::new(code, message)
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Refusal(problem, RETRY_AFTER)
    }
}

impl From<Code> for Refusal {
    fn from(code: Code) -> Self {
        Refusal::of(code)
    }
}

impl From<sotto_wire::FrameError> for Refusal {
    fn from(error: sotto_wire::FrameError) -> Self {
        Problem::new(error.code(), error.to_string()).into()
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
            headers.insert(header::RETRY_AFTER, HeaderValue::from(self.1));
        }
        // Label of the outcome, for the metrics.
        response.extensions_mut().insert(code);
        response
    }
}

//! Refused requests as responses: a problem as on every route of the server, or a refusal in the
//! format of another protocol.

use axum::body::Body;
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use sotto_wire::{Problem, ProblemCode, routes};

/// Seconds after which a refused request may succeed, by default.
const RETRY_AFTER: u64 = 1;

/// Why a request is refused, as it is told to the client.
#[derive(Debug)]
pub enum HttpError {
    /// A problem, and the seconds after which the request may be tried again.
    Problem(Problem, u64),
    /// A refusal in the format of another protocol.
    Foreign(Box<ForeignError>),
}

/// A refusal in the format of another protocol.
#[derive(Debug)]
pub struct ForeignError {
    status: StatusCode,
    text: String,
    outcome: &'static str,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// The name of a response's outcome in the metrics; without it, the request was answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome(pub(crate) &'static str);

impl HttpError {
    /// A problem with a message of its own.
    pub fn new(code: ProblemCode, message: &'static str) -> Self {
        Problem::new(code, message).into()
    }

    /// A refusal in another protocol's format, with this status, text and name in the metrics.
    pub fn foreign(status: u16, text: String, outcome: &'static str) -> Self {
        let status = status_of(status);
        HttpError::Foreign(Box::new(ForeignError { status, text, outcome, headers: Vec::new() }))
    }

    /// Adds a header to a refusal in another protocol's format.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: impl Into<HeaderValue>) -> Self {
        if let HttpError::Foreign(foreign) = &mut self {
            foreign.headers.push((name, value.into()));
        }
        self
    }

    /// Sets the seconds after which the request may be tried again.
    #[must_use]
    pub(crate) fn after(self, seconds: u64) -> Self {
        HttpError::Problem(self.into(), seconds.max(RETRY_AFTER))
    }

    /// The name of the outcome in the metrics.
    pub fn outcome(&self) -> &'static str {
        match self {
            HttpError::Problem(problem, _) => problem.code.text(),
            HttpError::Foreign(foreign) => foreign.outcome,
        }
    }

    /// The code and the message of a problem, and the seconds after which to try again.
    #[cfg(test)]
    pub(crate) fn summary(&self) -> (ProblemCode, &str, u64) {
        let HttpError::Problem(problem, seconds) = self else { panic!("{self:?}") };
        (problem.code, &problem.message, *seconds)
    }
}

impl From<Problem> for HttpError {
    fn from(problem: Problem) -> Self {
        HttpError::Problem(problem, RETRY_AFTER)
    }
}

impl From<ProblemCode> for HttpError {
    fn from(code: ProblemCode) -> Self {
        let message = match code {
            ProblemCode::Busy => "the queue is full",
            ProblemCode::Deadline => "the request waited too long in the queue and was dropped",
            ProblemCode::NotReady => "the table's image is lost until the operator restores it",
            ProblemCode::ShuttingDown => "the server is shutting down",
            ProblemCode::BadQuery => "invalid query for these parameters",
            ProblemCode::BadElement => "an element is not in the group, or is its identity",
            ProblemCode::Internal => "the server failed",
            _ => "the request was refused",
        };
        HttpError::new(code, message)
    }
}

impl From<sotto_wire::FrameError> for HttpError {
    fn from(error: sotto_wire::FrameError) -> Self {
        Problem::new(error.code(), error.to_string()).into()
    }
}

impl From<HttpError> for Problem {
    fn from(error: HttpError) -> Self {
        match error {
            HttpError::Problem(problem, _) => problem,
            HttpError::Foreign(foreign) => Problem::new(ProblemCode::Internal, foreign.text),
        }
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response<Body> {
        let outcome = Outcome(self.outcome());
        let (mut response, headers) = match self {
            HttpError::Problem(problem, seconds) => {
                let status = problem.code.status();
                let mut headers =
                    vec![(header::CONTENT_TYPE, HeaderValue::from_static(routes::PROBLEM_JSON))];
                if matches!(status, 429 | 503) {
                    headers.push((header::RETRY_AFTER, HeaderValue::from(seconds)));
                }
                ((status_of(status), problem.to_bytes()).into_response(), headers)
            }
            HttpError::Foreign(foreign) => ((foreign.status, foreign.text).into_response(), foreign.headers),
        };
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        for (name, value) in headers {
            response.headers_mut().insert(name, value);
        }
        response.extensions_mut().insert(outcome);
        response
    }
}

fn status_of(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

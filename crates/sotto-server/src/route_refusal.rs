//! Refusals on routes of other protocols: either a problem as on any route, or in the format of the
//! protocol.

use crate::refusal::Refusal;
use axum::body::Body;
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use sotto_pass::issuer::IssuerError;
use sotto_wire::Code;

/// Seconds after which a table that is not ready may be.
const NOT_READY: u64 = 10;
/// Seconds after which a user who has received all tokens of a key may try again: there may be
/// another key then.
const NO_TOKENS: u64 = 3600;
/// Seconds after which a failed write may succeed.
const NOT_WRITTEN: u64 = 5;

/// A refusal of a route.
#[derive(Debug)]
pub(crate) enum RouteRefusal {
    /// A problem as on any route.
    Problem(Refusal),
    /// A refusal in the format of another protocol.
    Foreign(Box<ForeignRefusal>),
}

/// A refusal in the format of another protocol.
#[derive(Debug)]
pub(crate) struct ForeignRefusal {
    status: StatusCode,
    why: String,
    outcome: &'static str,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// Outcome of a request, for the metrics.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutcomeLabel(pub(crate) &'static str);

impl<T: Into<Refusal>> From<T> for RouteRefusal {
    fn from(refusal: T) -> Self {
        RouteRefusal::Problem(refusal.into())
    }
}

impl RouteRefusal {
    /// The name of the outcome in the metrics.
    #[cfg(feature = "ohttp")]
    pub(crate) fn outcome(&self) -> &'static str {
        match self {
            RouteRefusal::Problem(refusal) => refusal.0.code.text(),
            RouteRefusal::Foreign(theirs) => theirs.outcome,
        }
    }

    /// A refusal in another protocol's format with this status, text and name in the metrics.
    pub(crate) fn theirs(status: u16, why: String, outcome: &'static str) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        RouteRefusal::Foreign(Box::new(ForeignRefusal { status, why, outcome, headers: Vec::new() }))
    }

    /// Adds a header to the response.
    pub(crate) fn saying(mut self, name: HeaderName, value: impl Into<HeaderValue>) -> Self {
        if let RouteRefusal::Foreign(theirs) = &mut self {
            theirs.headers.push((name, value.into()));
        }
        self
    }

    /// The refusal of a request of Apple's protocol.
    pub(crate) fn apple(refused: sotto_apple::service::Refusal) -> Self {
        let outcome = refused.outcome();
        let no = RouteRefusal::theirs(refused.status, refused.why + "\n", outcome);
        if refused.status == 503 { no.saying(header::RETRY_AFTER, NOT_READY) } else { no }
    }

    /// The refusal of a request for a token, or with one.
    pub(crate) fn token(failed: IssuerError) -> Self {
        let refused = match failed {
            IssuerError::Refused(refused) => refused,
            IssuerError::Broken(error) => {
                tracing::error!(%error, "no token was issued, and none was spent");
                let why = "the token ledger cannot be written\n".to_owned();
                return RouteRefusal::theirs(503, why, Code::Busy.text())
                    .saying(header::RETRY_AFTER, NOT_WRITTEN);
            }
        };
        let outcome = match refused.status {
            401 => "no-token",
            429 => "too-many-tokens",
            _ => "malformed",
        };
        let mut no = RouteRefusal::theirs(refused.status, format!("{}\n", refused.why), outcome);
        if let Some(wanted) = refused.authenticate.and_then(|wanted| HeaderValue::from_str(&wanted).ok()) {
            no = no.saying(header::WWW_AUTHENTICATE, wanted);
        }
        if refused.status == 429 { no.saying(header::RETRY_AFTER, NO_TOKENS) } else { no }
    }
}

impl IntoResponse for RouteRefusal {
    fn into_response(self) -> Response<Body> {
        let theirs = match self {
            RouteRefusal::Problem(refusal) => return refusal.into_response(),
            RouteRefusal::Foreign(theirs) => *theirs,
        };
        let mut response = (theirs.status, theirs.why).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        for (name, value) in theirs.headers {
            headers.insert(name, value);
        }
        response.extensions_mut().insert(OutcomeLabel(theirs.outcome));
        response
    }
}

//! A refusal of a route whose clients are not ours: either as of any route, or in the words of its own protocol.

use crate::refusal::Refusal;
use axum::body::Body;
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use sotto_apple::service::Refused;
use sotto_pass::pass::Failed;
use sotto_wire::Code;

/// Seconds until a table that is not ready may be.
const NOT_READY: u64 = 10;
/// Whoever had all tokens of a key comes back in an hour: perhaps there is another key.
const NO_TOKENS: u64 = 3600;
/// What could not be written may be written in a while.
const NOT_WRITTEN: u64 = 5;

/// A refusal.
#[derive(Debug)]
pub(crate) enum No {
    /// As of any route.
    Ours(Refusal),
    /// Of a protocol of others.
    Theirs(Box<Theirs>),
}

/// What a protocol says of a refusal.
#[derive(Debug)]
pub(crate) struct Theirs {
    status: StatusCode,
    why: String,
    outcome: &'static str,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// What became of a request, for the metrics.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outcome(pub(super) &'static str);

impl<T: Into<Refusal>> From<T> for No {
    fn from(refusal: T) -> Self {
        No::Ours(refusal.into())
    }
}

impl No {
    /// What it is called in the metrics.
    #[cfg(feature = "ohttp")]
    pub(super) fn outcome(&self) -> &'static str {
        match self {
            No::Ours(refusal) => refusal.0.code.text(),
            No::Theirs(theirs) => theirs.outcome,
        }
    }

    /// With this status, text and name in the metrics.
    pub(super) fn theirs(status: u16, why: String, outcome: &'static str) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        No::Theirs(Box::new(Theirs { status, why, outcome, headers: Vec::new() }))
    }

    /// The same, and says this too.
    pub(super) fn saying(mut self, name: HeaderName, value: impl Into<HeaderValue>) -> Self {
        if let No::Theirs(theirs) = &mut self {
            theirs.headers.push((name, value.into()));
        }
        self
    }

    /// What a request of Apple's protocol was refused for.
    pub(crate) fn apple(refused: Refused) -> Self {
        let outcome = refused.outcome();
        let no = No::theirs(refused.status, refused.why + "\n", outcome);
        if refused.status == 503 { no.saying(header::RETRY_AFTER, NOT_READY) } else { no }
    }

    /// What no token was given or taken for.
    pub(crate) fn token(failed: Failed) -> Self {
        let refused = match failed {
            Failed::Refused(refused) => refused,
            Failed::Broken(error) => {
                tracing::error!(%error, "nothing was given and nothing was spent");
                let why = "the ledger of tokens cannot be written\n".to_owned();
                return No::theirs(503, why, Code::Busy.text()).saying(header::RETRY_AFTER, NOT_WRITTEN);
            }
        };
        let outcome = match refused.status {
            401 => "no-token",
            429 => "too-many-tokens",
            _ => "malformed",
        };
        let mut no = No::theirs(refused.status, format!("{}\n", refused.why), outcome);
        if let Some(wanted) = refused.authenticate.and_then(|wanted| HeaderValue::from_str(&wanted).ok()) {
            no = no.saying(header::WWW_AUTHENTICATE, wanted);
        }
        if refused.status == 429 { no.saying(header::RETRY_AFTER, NO_TOKENS) } else { no }
    }
}

impl IntoResponse for No {
    fn into_response(self) -> Response<Body> {
        let theirs = match self {
            No::Ours(refusal) => return refusal.into_response(),
            No::Theirs(theirs) => *theirs,
        };
        let mut response = (theirs.status, theirs.why).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        for (name, value) in theirs.headers {
            headers.insert(name, value);
        }
        response.extensions_mut().insert(Outcome(theirs.outcome));
        response
    }
}

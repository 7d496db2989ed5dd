//! Refusals of requests: a status that phones know, and a text for people.

/// Refusal of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status of the response.
    pub status: u16,
    /// Reason for the refusal.
    pub why: String,
}

/// Message for a client that sends half of an evaluation key.
pub(crate) const LACKING: &str = "the evaluation key or its metadata is missing";

/// Message for a client whose keys are not stored. Phones read the status, request the
/// configuration, and send their keys again.
pub(crate) const NO_KEYS: &str = "the evaluation key is not stored here: send it again";

pub(crate) fn refused<T>(status: u16, why: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { status, why: why.into() })
}

impl Refusal {
    /// Outcome of the request in one word, for metrics.
    pub fn outcome(&self) -> &'static str {
        match self.status {
            400 if self.why == NO_KEYS => "no-keys",
            400 => "malformed",
            404 => "no-such-use-case",
            410 => "retired",
            413 => "too-large",
            503 => "not-ready",
            _ => "internal",
        }
    }
}

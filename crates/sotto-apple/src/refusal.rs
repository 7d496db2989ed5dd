//! Why a request is refused: a status that phones know, and words for whoever reads them.

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The status of the answer.
    pub status: u16,
    /// Why.
    pub why: String,
}

/// What is said to a client that sends half of an evaluation key.
pub(crate) const LACKING: &str = "an evaluation key lacks its metadata, or itself";

/// What is said to a client whose keys are not here. Phones look at the status, ask for the configuration, and send them again.
pub(crate) const NO_KEYS: &str = "that evaluation key is not here: send it again";

pub(crate) fn refused<T>(status: u16, why: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { status, why: why.into() })
}

impl Refusal {
    /// What became of the request, in a word: for metrics.
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

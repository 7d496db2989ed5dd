//! Refusals: the body of every response that is not a success. It is one JSON problem: a stable
//! code for programs, a message and a fix for people, and the epoch to move to where that helps.

use serde::{Deserialize, Serialize};
use sotto_core::{Diagnose, Diagnosis, Epoch, ErrorKind, Exit, ExpectOrDefault};

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $status:literal $text:literal, $fix:literal;)+) => {
        /// Why a request was refused. The text form is stable; programs match on it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ProblemCode { $($(#[doc = $doc])+ $name,)+ }

        impl ProblemCode {
            /// All codes of refusals.
            pub const ALL: &'static [ProblemCode] = &[$(ProblemCode::$name,)+];

            /// HTTP status of the response.
            pub fn status(self) -> u16 {
                match self { $(ProblemCode::$name => $status,)+ }
            }

            /// Stable text of the code.
            pub fn text(self) -> &'static str {
                match self { $(ProblemCode::$name => $text,)+ }
            }

            /// Remedy for the client.
            pub fn fix(self) -> &'static str {
                match self { $(ProblemCode::$name => $fix,)+ }
            }
        }
    };
}

codes! {
    /// The body is not a frame, or not of the size that its count and the parameters fix.
    Malformed = 400 "malformed",
        "send a frame of exactly the size the catalog's parameters say (spec/wire.md)";
    /// The server does not support the frame's version.
    WrongVersion = 400 "wrong-version",
        "use a client of the server's version";
    /// The frame is for another of the scheme's servers.
    WrongServer = 400 "wrong-server",
        "send each query to the server it was made for";
    /// The parameters do not allow the query.
    BadQuery = 400 "bad-query",
        "make the query with a client of this catalog's parameters";
    /// The parameters do not allow the keys, or the scheme has none.
    BadKeys = 400 "bad-keys",
        "make the keys with a client of this catalog's parameters";
    /// The element is not in the group, or is its identity.
    BadElement = 400 "bad-element",
        "blind with a client of this catalog's suite";
    /// The path does not exist.
    NoSuchRoute = 404 "no-such-route",
        "see spec/wire.md for the routes";
    /// The server has no table of that name.
    NoSuchTable = 404 "no-such-table",
        "`sotto inspect URL` lists the tables of a server";
    /// The server has no current artifact with that digest.
    NoSuchArtifact = 404 "no-such-artifact",
        "fetch the catalog again: artifacts of old epochs are dropped";
    /// The table's scheme answers only whole records.
    CannotStream = 404 "cannot-stream",
        "request the whole record instead";
    /// The table is not symmetric.
    NotSymmetric = 404 "not-symmetric",
        "read the rows without evaluations: this epoch of the table is not masked";
    /// The server has no log of this publisher, or no log that contains the requested catalog.
    NotLogged = 404 "not-logged",
        "ask the publisher why the catalog is not in the log, and the operator whether the log is served";
    /// The path exists, but not with this method.
    WrongMethod = 405 "wrong-method",
        "see spec/wire.md for the method of each route";
    /// The body did not arrive in time.
    TooSlow = 408 "too-slow",
        "send the whole body without pause";
    /// The epoch is not served any more.
    StaleEpoch = 409 "stale-epoch",
        "fetch the catalog again and query its epoch";
    /// The epoch is not served yet.
    EpochAhead = 409 "epoch-ahead",
        "wait a little, or fetch the catalog from this server";
    /// The scheme or the parameters are not those of the epoch.
    WrongParams = 409 "wrong-params",
        "fetch the catalog again and prepare a new client";
    /// The catalog is of an epoch that is not served any more.
    EpochExpired = 410 "epoch-expired",
        "fetch the newest catalog";
    /// The server does not hold the session: it expired, was evicted, or never existed.
    SessionExpired = 410 "session-expired",
        "register the keys again";
    /// The body is larger than any valid one.
    TooLarge = 413 "too-large",
        "send fewer queries in one request";
    /// The artifact does not have the range.
    BadRange = 416 "bad-range",
        "request one range inside the artifact";
    /// The queue is full.
    Busy = 429 "busy",
        "send the same bytes again after Retry-After";
    /// The server failed.
    Internal = 500 "internal",
        "tell the operator; the server's log says more";
    /// The query request waited too long and was dropped before any work.
    Deadline = 503 "deadline",
        "send the same bytes again after Retry-After";
    /// The table is not served: its image is being read, or is damaged or lost, or no server is
    /// running yet, which a client concludes from a proxy without a server behind it.
    NotReady = 503 "not-ready",
        "try again after Retry-After";
    /// The server is shutting down.
    ShuttingDown = 503 "shutting-down",
        "send the same bytes again after Retry-After, or to another server";
}

impl ProblemCode {
    /// The code with this text, if this build knows it.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.text() == text)
    }

    /// Whether the same bytes may succeed later. After all other codes the request must change.
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            ProblemCode::TooSlow
                | ProblemCode::Busy
                | ProblemCode::Deadline
                | ProblemCode::NotReady
                | ProblemCode::ShuttingDown
        )
    }

    /// The code that is closest to a bare status, for refusals that are not ours, such as a
    /// proxy's.
    fn of_status(status: u16) -> Self {
        match status {
            404 => ProblemCode::NoSuchRoute,
            405 => ProblemCode::WrongMethod,
            408 => ProblemCode::TooSlow,
            409 => ProblemCode::StaleEpoch,
            410 => ProblemCode::EpochExpired,
            413 => ProblemCode::TooLarge,
            416 => ProblemCode::BadRange,
            429 => ProblemCode::Busy,
            502..=504 => ProblemCode::NotReady,
            400..=499 => ProblemCode::Malformed,
            _ => ProblemCode::Internal,
        }
    }
}

/// Largest size in bytes of a refusal that a client reads.
pub const MAX_PROBLEM_BYTES: u64 = 4 << 10;

/// Body of a refusal.
///
/// ```
/// use sotto_core::Epoch;
/// use sotto_wire::{Problem, ProblemCode};
///
/// let problem = Problem::new(ProblemCode::StaleEpoch, "epoch 3 is gone").with_epoch(Epoch(5));
/// let read = Problem::read(problem.code.status(), &problem.to_bytes());
/// assert_eq!((read.code, read.epoch), (ProblemCode::StaleEpoch, Some(Epoch(5))));
/// assert!(ProblemCode::Busy.is_retryable() && !ProblemCode::StaleEpoch.is_retryable());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Code of the refusal.
    pub code: ProblemCode,
    /// Description of what happened, for a person.
    pub message: String,
    /// Remedy, for a person.
    pub fix: String,
    /// The newest epoch, if moving to it is the fix.
    pub epoch: Option<Epoch>,
}

#[derive(Serialize, Deserialize)]
struct ProblemBody {
    code: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    fix: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    epoch: Option<Epoch>,
}

impl Problem {
    /// A refusal with its code's fix.
    pub fn new(code: ProblemCode, message: impl Into<String>) -> Self {
        Problem { code, message: message.into(), fix: code.fix().to_owned(), epoch: None }
    }

    /// Adds the newest epoch.
    pub fn with_epoch(mut self, epoch: Epoch) -> Self {
        self.epoch = Some(epoch);
        self
    }

    /// The JSON body.
    pub fn to_bytes(&self) -> Vec<u8> {
        let body = ProblemBody {
            code: self.code.text().to_owned(),
            message: self.message.clone(),
            fix: self.fix.clone(),
            epoch: self.epoch,
        };
        serde_json::to_vec(&body).expect_or_default("strings and an integer always serialize")
    }

    /// Parses the refusal in a response with the given status.
    ///
    /// Total: a body of another format, or with a code that this build does not know, becomes the
    /// code closest to the status. Texts are cut and stripped of control characters, since they are
    /// printed to terminals.
    pub fn read(status: u16, body: &[u8]) -> Self {
        let parsed = (body.len() as u64 <= MAX_PROBLEM_BYTES)
            .then(|| sotto_core::json::from_slice::<ProblemBody>(body).ok())
            .flatten();
        let Some(body) = parsed else {
            let message = format!("the server answered with status {status} and no readable reason");
            return Problem::new(ProblemCode::of_status(status), message);
        };
        let code = ProblemCode::from_text(&body.code).unwrap_or(ProblemCode::of_status(status));
        let fix = printable(&body.fix);
        Problem {
            code,
            message: printable(&body.message),
            fix: if fix.is_empty() { code.fix().to_owned() } else { fix },
            epoch: body.epoch,
        }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}): {}", self.message, self.code.text(), self.fix)
    }
}

/// Makes a peer's text safe to print: at most 300 characters, none of them control characters.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(300).collect()
}

impl Diagnose for Problem {
    fn diagnosis(&self) -> Diagnosis<'_> {
        let kind = if self.code.is_retryable() { ErrorKind::Network } else { ErrorKind::Peer };
        let exit = match (self.code, self.code.status()) {
            (_, 404) => Exit::Missing,
            (ProblemCode::Malformed | ProblemCode::BadQuery | ProblemCode::BadKeys, _) | (_, 405 | 500) => {
                Exit::Peer
            }
            _ => Exit::Refused,
        };
        kind.diagnosis(self.code.text(), &self.fix).with_exit(exit)
    }
}

//! Errors say whose fault they are. No variant holds plaintext, keys or noise.
//!
//! The taxonomy follows rustls: parameters that cannot work, a caller that misuses the API, a peer
//! that misbehaves, a budget that is spent. [`Error::Unreadable`] is special: it must never travel
//! back to a server, not even as a prompt retry, because that would be a decryption oracle.

use crate::diagnosis::{Diagnose, Diagnosis, ErrorKind, Exit, Fault};
use std::fmt;

/// Result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a scheme, by whose fault it is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The parameters cannot serve this table.
    #[error("parameters refused: {0}")]
    Params(#[from] ParamsError),
    /// The calling code breaks the contract. Never caused by bytes from a peer.
    #[error("misuse: {0}")]
    Misuse(#[from] Misuse),
    /// The other side's bytes break the contract.
    #[error("the peer's bytes are not valid: {0}")]
    Peer(#[from] PeerMisbehaved),
    /// The client's hints are used up, and it must prepare again.
    #[error("query budget is used up ({0})")]
    Exhausted(Budget),
    /// The recovered bytes fail the check of the row. The error stays on the client.
    #[error("cannot read the answer")]
    Unreadable,
    /// A batch code has no bucket for one of the request's rows. The request was sent like any
    /// other. Sending another one at once for the missing row would show that, so it belongs in a
    /// request that is due anyway.
    #[error("the batch code has no bucket for one of the rows")]
    BatchCodeFailure,
    /// The storage of an encoder or of a client state fails.
    #[error("storage: {0}")]
    Storage(#[from] std::io::Error),
}

impl Diagnose for Error {
    fn diagnosis(&self) -> Diagnosis<'_> {
        match self {
            Error::Params(_) => ErrorKind::Params.diagnosis(
                "bad-params",
                "do not use the table: its publisher must encode it with sound parameters",
            ),
            Error::Misuse(Misuse::IndexPastEnd { .. }) => {
                ErrorKind::Row.diagnosis("misuse", "correct the call")
            }
            Error::Misuse(_) => {
                ErrorKind::Misuse.diagnosis("misuse", "correct the call").with_exit(Exit::Internal)
            }
            Error::Peer(_) => ErrorKind::Peer
                .diagnosis("peer-misbehaved", "tell the operator: the server sends damaged or forged bytes"),
            Error::Exhausted(_) => {
                ErrorKind::Misuse.diagnosis("exhausted", "open the table again").with_exit(Exit::Refused)
            }
            Error::Unreadable => ErrorKind::Unreadable.diagnosis(
                "unreadable",
                "open the table again; do not look up the same row at once, and report nothing to the server",
            ),
            Error::BatchCodeFailure => {
                // The publisher chose the batch code.
                let fix = "look up some of these rows in the next request that is due, and not at once";
                let diagnosis =
                    ErrorKind::Misuse.diagnosis("batch-code-failure", fix).with_exit(Exit::Refused);
                Diagnosis { fault: Fault::Server, ..diagnosis }
            }
            Error::Storage(_) => ErrorKind::Storage.diagnosis("storage", "check the disk"),
        }
    }
}

/// The reason why parameters are refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsError {
    /// The literal does not parse, or a field is out of its documented range.
    #[error("{field}: {why}")]
    Field {
        /// Name of the field in the literal.
        field: &'static str,
        /// The allowed range of the field, or what is wrong with its value.
        why: String,
    },
    /// The parameter set gives less security than required.
    #[error("expected at least {required} bits of security, got {bits:.1}")]
    Insecure {
        /// Estimated security in bits.
        bits: f64,
        /// Required security in bits.
        required: u32,
    },
    /// A lookup fails with too high a probability.
    #[error("a lookup fails with probability 2^{log2:.1}, above the maximum of 2^{required}")]
    Unreliable {
        /// log2 of the computed failure bound.
        log2: f64,
        /// log2 of the largest failure probability allowed.
        required: i32,
    },
    /// A request of several lookups fails with too high a probability, since it fails if any of
    /// them does.
    #[error(
        "one of {lookups} lookups in a request fails with probability 2^{log2:.1}, above the maximum of 2^{required}"
    )]
    UnreliableTogether {
        /// Lookups of a request.
        lookups: usize,
        /// log2 of the computed failure bound of all lookups together.
        log2: f64,
        /// log2 of the largest failure probability allowed.
        required: i32,
    },
    /// No parameter set of this scheme fits the table.
    #[error("no parameters fit a table of {rows} rows of {row_bytes} bytes: {why}")]
    NoFit {
        /// Rows in the table.
        rows: u64,
        /// Bytes in a row.
        row_bytes: u64,
        /// The limit that is exceeded.
        why: String,
    },
}

/// A violation of the contract by the calling code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misuse {
    /// An index past the end.
    #[error("index {index} is past the end at {len}")]
    IndexPastEnd {
        /// The requested index.
        index: u64,
        /// Number of elements.
        len: u64,
    },
    /// A pending query or session that another client or server made.
    #[error("the {0} belongs to another client or server")]
    ForeignValue(&'static str),
    /// An artifact that this scheme does not need, or more bytes of it than it has.
    #[error("unexpected bytes of the artifact {0}")]
    UnexpectedArtifact(&'static str),
    /// `finish` was called before every needed artifact was absorbed.
    #[error("expected {need} bytes of {artifact}, absorbed {got}")]
    NotPrepared {
        /// Which artifact is incomplete.
        artifact: &'static str,
        /// Bytes absorbed.
        got: u64,
        /// Bytes needed.
        need: u64,
    },
    /// Any other violation; the text names the rule.
    #[error("{0}")]
    Rule(&'static str),
}

/// A violation of the contract by the peer's bytes. Variants have no fields where possible: they
/// name the cause, without a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerMisbehaved {
    /// A message whose length is not the one that the parameters fix.
    #[error("expected {want} bytes of {what}, got {got}")]
    Length {
        /// Name of the message.
        what: &'static str,
        /// Bytes received.
        got: u64,
        /// Bytes that the parameters fix.
        want: u64,
    },
    /// A coefficient that is not below its modulus, or a padding bit that is set.
    #[error("{0} is not in canonical form")]
    NotCanonical(&'static str),
    /// Answers for another number of servers or queries than requested.
    #[error("expected {want} {what}, got {got}")]
    Count {
        /// Name of the counted items.
        what: &'static str,
        /// Number of items received.
        got: u64,
        /// Number of items expected.
        want: u64,
    },
    /// A digest that does not match.
    #[error("{0} does not match its digest")]
    Digest(&'static str),
    /// A structure whose fields contradict each other, or that exceeds a limit.
    #[error("{what}: {why}")]
    Malformed {
        /// Name of the structure.
        what: &'static str,
        /// What is wrong with the structure. Quotes bytes of peers only, so it holds no secret.
        why: String,
    },
}

/// The number of queries that a client can still make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// Any number of queries.
    Unlimited,
    /// A limited number of queries.
    Left(u64),
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Budget::Unlimited => f.write_str("unlimited"),
            Budget::Left(n) => write!(f, "{n} left"),
        }
    }
}

//! Errors say whose fault it was. No variant holds plaintext, keys or noise.
//!
//! The taxonomy follows rustls: parameters that cannot work, a caller who misuses the API, a peer who
//! misbehaves, a budget that is spent. [`Error::Unreadable`] is special: it must never travel back to a
//! server, not even as a prompt retry, because *that* is a decryption oracle.

use std::fmt;

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, by whose fault.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// This table cannot be served with these parameters.
    #[error("parameters refused: {0}")]
    Params(#[from] ParamsError),
    /// The calling code broke the contract. Never caused by bytes from a peer.
    #[error("misuse: {0}")]
    Misuse(#[from] Misuse),
    /// The other side's bytes break the contract.
    #[error("the peer's bytes are not valid: {0}")]
    Peer(#[from] PeerMisbehaved),
    /// The client's hints are used up; prepare again.
    #[error("query budget used up ({0}): prepare again to go on")]
    Exhausted(Budget),
    /// The recovered bytes fail the row check. Stays on the client.
    #[error("the answer could not be read; start afresh with a new client, do not retry")]
    Unreadable,
    /// A batch code has no place for all rows of this request at once; it was asked like any other. Asking at once for
    /// what is missing would show it, so it belongs into a request that is due anyway.
    #[error("these rows cannot all be fetched at once; ask for some of them when other rows are due")]
    ServerUnavailable,
    /// Storage under an encoder or a client state failed.
    #[error("storage: {0}")]
    Storage(#[from] std::io::Error),
}

/// Why parameters were refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsError {
    /// The literal does not parse, or a field is out of its documented range.
    #[error("{field}: {why}")]
    Field {
        /// Name of the field in the literal.
        field: &'static str,
        /// The range it must lie in, or what is wrong with it.
        why: String,
    },
    /// The parameter set gives less security than the gate asks for.
    #[error("{bits:.1} bits of security, {required} are required")]
    Insecure {
        /// Estimated security in bits.
        bits: f64,
        /// What the gate requires.
        required: u32,
    },
    /// A lookup would fail too often.
    #[error("a lookup fails with probability 2^{log2:.1}, at most 2^{required} is allowed")]
    Unreliable {
        /// log2 of the computed failure bound.
        log2: f64,
        /// log2 of the largest failure probability allowed.
        required: i32,
    },
    /// A request that takes several lookups would fail too often, since it does if any of them does.
    #[error(
        "one of a request's {lookups} lookups fails with probability 2^{log2:.1}, at most 2^{required} is allowed"
    )]
    UnreliableTogether {
        /// Lookups of a request.
        lookups: usize,
        /// log2 of the computed failure bound of all of them together.
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
        /// The limit that was met.
        why: String,
    },
}

/// The caller's code did something the contract forbids.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misuse {
    /// An index past the end.
    #[error("index {index} is past the end ({len})")]
    IndexPastEnd {
        /// The index asked for.
        index: u64,
        /// How many there are.
        len: u64,
    },
    /// A ticket or session handle that another client or server made.
    #[error("a {0} of another instance was handed in")]
    ForeignValue(&'static str),
    /// An artifact this scheme did not ask for, or more of it than there is.
    #[error("artifact {0} was not asked for, or came twice")]
    UnexpectedArtifact(&'static str),
    /// `finish` was called before every needed artifact was absorbed.
    #[error("not prepared: {got} of {need} bytes of {artifact} absorbed")]
    NotPrepared {
        /// Which artifact is incomplete.
        artifact: &'static str,
        /// Bytes absorbed.
        got: u64,
        /// Bytes needed.
        need: u64,
    },
    /// Anything else; the text names the rule.
    #[error("{0}")]
    Rule(&'static str),
}

/// The peer's bytes break the contract. Fieldless where possible: the cause is a name, not a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerMisbehaved {
    /// A message of another length than the parameters say.
    #[error("{what} has {got} bytes, the parameters say {want}")]
    Length {
        /// Which message.
        what: &'static str,
        /// Bytes received.
        got: u64,
        /// Bytes the parameters fix.
        want: u64,
    },
    /// A coefficient at or above its modulus, or a set padding bit.
    #[error("{0} is not in canonical form")]
    NotCanonical(&'static str),
    /// Answers for another number of servers or queries than asked.
    #[error("{got} {what} came back, {want} were due")]
    Count {
        /// What was counted.
        what: &'static str,
        /// How many came.
        got: u64,
        /// How many were due.
        want: u64,
    },
    /// A digest that does not match.
    #[error("{0} does not match its digest")]
    Digest(&'static str),
    /// A structure whose fields contradict each other, or a limit exceeded.
    #[error("{what}: {why}")]
    Malformed {
        /// Which structure.
        what: &'static str,
        /// What is wrong with it. Holds no secret: peers' bytes only.
        why: String,
    },
}

/// How many more queries a client may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// As many as it likes.
    Unlimited,
    /// This many.
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

//! Errors of the OPRF: whose fault they are, and what to do.

/// The reason why bytes of a peer or of a file are refused. No variant holds a secret or names the
/// item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OprfError {
    /// Bytes that are not an element of the group, or the identity, or an element in a
    /// non-canonical encoding.
    #[error("bytes are not an element of the group, or are its identity")]
    Element,
    /// A proof that does not hold for these elements and this public key.
    #[error("the proof of an evaluation does not hold for the key that the catalog names")]
    Proof,
    /// More or fewer evaluations than requested; or none.
    #[error("expected {want} evaluations, got {got}")]
    Count {
        /// Number of evaluations received.
        got: usize,
        /// Number of evaluations requested.
        want: usize,
    },
    /// An input whose length the function does not accept.
    #[error("an input must have 1 to 65535 bytes")]
    Input,
    /// Text that is not a key file.
    #[error("{0}")]
    KeyText(&'static str),
    /// Masked bytes that the function's output does not open.
    #[error("an item does not open: it is damaged, or was masked with another key")]
    Closed,
    /// An item whose version is a future epoch.
    #[error("the version of an item is an epoch later than the table's")]
    Future,
}

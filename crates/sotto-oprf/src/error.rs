//! Errors of the OPRF: whose fault they are, and what to do.

/// The reason why bytes of a peer or of a file are refused. No variant holds a secret or names the
/// item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OprfError {
    /// Bytes that are not an element of the group, or the identity, or an element in a
    /// non-canonical encoding.
    #[error("bytes that are no element of the group, or its identity: the peer does not follow the protocol")]
    Element,
    /// A proof that does not hold for these elements and this public key.
    #[error(
        "the proof of an evaluation does not hold: it was not made with the key that the catalog names; tell the \
        operator, and do not \
         ask again"
    )]
    Proof,
    /// More or fewer evaluations than requested; or none.
    #[error("{got} evaluations, and {want} were asked for: the peer does not follow the protocol")]
    Count {
        /// Number of evaluations received.
        got: usize,
        /// Number of evaluations requested.
        want: usize,
    },
    /// An input whose length the function does not accept.
    #[error("an input of the function has 1 to 65535 bytes")]
    Input,
    /// Text that is not a key file.
    #[error("{0}")]
    KeyText(&'static str),
    /// Masked bytes that the function's output does not open.
    #[error(
        "an item does not open: what was fetched is damaged, or was masked with another key; tell the publisher, and \
        do not ask for it \
         again"
    )]
    Closed,
    /// An item whose version is a future epoch.
    #[error(
        "an item says that it was written in an epoch to come: tell the publisher, and do not ask for it again"
    )]
    Future,
}

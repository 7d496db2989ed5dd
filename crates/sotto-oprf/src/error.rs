//! Whose fault, and what to do.

/// Why bytes of a peer or of a file were refused. None of these holds a secret, and none says of which item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OprfError {
    /// Bytes that are no element of the group, or its identity, or an element in another form than the only one.
    #[error("bytes that are no element of the group, or its identity: the peer does not follow the protocol")]
    Element,
    /// A proof that does not hold for these elements and this public key.
    #[error(
        "the proof of an evaluation does not hold: it was not made with the key that the catalog names; tell the \
        operator, and do not \
         ask again"
    )]
    Proof,
    /// More evaluations, or fewer, than were asked for; or none.
    #[error("{got} evaluations, and {want} were asked for: the peer does not follow the protocol")]
    Count {
        /// How many there are.
        got: usize,
        /// How many were asked for.
        want: usize,
    },
    /// An input that the function does not take.
    #[error("an input of the function has 1 to 65535 bytes")]
    Input,
    /// Text that is no key file.
    #[error("{0}")]
    KeyText(&'static str),
    /// Masked bytes that the function's output does not open.
    #[error(
        "an item does not open: what was fetched is damaged, or was masked with another key; tell the publisher, and \
        do not ask for it \
         again"
    )]
    Closed,
    /// An item of an epoch that is still to come.
    #[error(
        "an item says that it was written in an epoch to come: tell the publisher, and do not ask for it again"
    )]
    Future,
}

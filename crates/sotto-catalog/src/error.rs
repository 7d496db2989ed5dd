//! Whose fault, and what to do.

use crate::PublicKey;

/// Why a catalog, a signature or a key was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// More bytes than any valid one has.
    #[error("{what} has {bytes} bytes, at most {limit} are allowed: it was not written by sotto")]
    TooLarge {
        /// Which structure.
        what: &'static str,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// Text that is not the JSON of this format.
    #[error("{what} does not parse: {why} (if its publisher runs a newer sotto, upgrade this one)")]
    Malformed {
        /// Which structure.
        what: &'static str,
        /// Where, and what was expected.
        why: String,
    },
    /// A catalog or a stack of another version.
    #[error("it is in format {found:?}, this build reads {reads:?}: upgrade the older side")]
    Version {
        /// The format it names.
        found: String,
        /// The format that was expected.
        reads: &'static str,
    },
    /// A layer this build does not know. Ignoring it would read wrong rows.
    #[error("the table is stacked on layer {name:?}, which this build does not know: upgrade sotto")]
    UnknownLayer {
        /// The layer's name.
        name: String,
    },
    /// Fields that are out of range or contradict each other.
    #[error("the catalog contradicts itself: {field}: {why}")]
    Invalid {
        /// Which field.
        field: &'static str,
        /// The rule it breaks.
        why: String,
    },
    /// The catalog says one thing, the scheme named in it another.
    #[error("the catalog and its scheme disagree on {what}: the publisher must encode the table afresh")]
    Disagree {
        /// On what.
        what: &'static str,
    },
    /// A scheme other than the one at hand.
    #[error("the table is served by scheme {wanted:?}, this build offers {offered:?}: upgrade sotto")]
    WrongScheme {
        /// What the catalog names.
        wanted: String,
        /// What the caller looked up.
        offered: String,
    },
    /// The scheme refused its parameters.
    #[error("the catalog's parameters: {0}")]
    Params(#[from] sotto_core::Error),
    /// The signature does not fit text and key.
    #[error("the catalog's signature is not valid: it was changed on the way, or never signed with this key")]
    BadSignature,
    /// Signed by a key other than the pinned one.
    #[error(
        "the catalog is signed by {found}, the pinned key is {pinned}: \
         wrong server, or the publisher changed keys; ask the publisher, then pin anew"
    )]
    WrongKey {
        /// The key the caller trusts.
        pinned: PublicKey,
        /// The key in the envelope.
        found: PublicKey,
    },
    /// Signed by a key that took the pinned one's place longer ago than clients follow.
    #[error(
        "the catalog is signed by {found}, which has taken the place of the pinned key {pinned}, \
         and the time to follow that by itself is over: ask the publisher, then pin anew"
    )]
    ChangeOver {
        /// The key the caller trusts.
        pinned: PublicKey,
        /// The key in the envelope.
        found: PublicKey,
    },
    /// Text that is no key.
    #[error("{what}: {why}")]
    KeyText {
        /// Which kind of key was expected.
        what: &'static str,
        /// What is wrong with it. Never holds the text.
        why: &'static str,
    },
    /// Text that names no row of the table. It is not repeated: what is looked up is private.
    #[error("no such row: {why}")]
    NoSuchRow {
        /// What would be a row.
        why: String,
    },
}

impl CatalogError {
    pub(crate) fn invalid(field: &'static str, why: impl Into<String>) -> Self {
        CatalogError::Invalid { field, why: why.into() }
    }

    /// Wraps a parser's message, cut short and stripped of control characters: it may quote text from the
    /// peer, and ends up in terminals.
    pub(crate) fn malformed(what: &'static str, why: &serde_json::Error) -> Self {
        let mut why = why.to_string();
        why.retain(|c| !c.is_control());
        if let Some((end, _)) = why.char_indices().nth(200) {
            why.truncate(end);
            why.push_str("...");
        }
        CatalogError::Malformed { what, why }
    }
}

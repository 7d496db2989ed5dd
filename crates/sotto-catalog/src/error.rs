//! Errors of catalogs, with whose fault they are and what to do.

use crate::hex::PublicKey;
use sotto_core::{Diagnose, Diagnosis, ErrorKind, Exit, Fault};

/// Why a catalog, a signature or a key was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// The input is longer than any valid one.
    #[error("{what} has {bytes} bytes, expected at most {limit}: it was not written by sotto")]
    TooLarge {
        /// Name of the structure.
        what: &'static str,
        /// Bytes of the input.
        bytes: u64,
        /// Largest size in bytes.
        limit: u64,
    },
    /// The text is not JSON of this format.
    #[error("{what} does not parse: {why} (if its publisher runs a newer sotto, upgrade this one)")]
    Malformed {
        /// Name of the structure.
        what: &'static str,
        /// Position, and what was expected.
        why: String,
    },
    /// The catalog or stack has another version.
    #[error("expected format {reads:?}, got {found:?}: upgrade the older side")]
    Version {
        /// Format that the document names.
        found: String,
        /// Format that this build reads.
        reads: &'static str,
    },
    /// This build does not know the layer of this name. Ignoring it would read wrong rows.
    #[error("the table uses layer {0:?}, which this build does not know: upgrade sotto")]
    UnknownLayer(String),
    /// A field is out of range or contradicts another.
    #[error("the catalog is invalid: {field}: {why}")]
    Invalid {
        /// Name of the field.
        field: &'static str,
        /// The rule it breaks.
        why: String,
    },
    /// The catalog and its scheme disagree on this.
    #[error("the catalog and its scheme disagree on {0}: the publisher must encode the table afresh")]
    Disagree(&'static str),
    /// The catalog names another scheme than the caller's.
    #[error("the table uses scheme {expected:?}, this build has {offered:?}: upgrade sotto")]
    WrongScheme {
        /// Scheme that the catalog names.
        expected: String,
        /// Scheme that the caller offers.
        offered: String,
    },
    /// The scheme refused its parameters.
    #[error("parameters in the catalog: {0}")]
    Params(#[from] sotto_core::Error),
    /// The signature does not match text and key.
    #[error(
        "the catalog's signature is not valid: the catalog was changed on its way, or was never signed with \
         this key"
    )]
    BadSignature,
    /// The ML-DSA-44 signature does not match text and key, although the Ed25519 signature does.
    #[error(
        "the catalog's ML-DSA-44 signature is not valid, but its Ed25519 signature is: it was changed on its \
         way, or forged by someone who can break Ed25519"
    )]
    BadMlDsaSignature,
    /// There is no ML-DSA-44 signature where the known key demands one.
    #[error(
        "the catalog has no ML-DSA-44 signature, which {expected} demands: it is older than that key, or was \
         forged by someone who can break Ed25519"
    )]
    NoMlDsaSignature {
        /// The key that demands both signatures.
        expected: PublicKey,
    },
    /// The signing key is not the pinned one.
    #[error(
        "the catalog is signed by {found}, expected the pinned key {pinned}: this is the wrong server, or the \
         publisher changed keys; ask the publisher, then pin the new key"
    )]
    WrongKey {
        /// The pinned key.
        pinned: Box<PublicKey>,
        /// The key in the envelope.
        found: PublicKey,
    },
    /// The signing key replaced the pinned one longer ago than clients follow.
    #[error(
        "the catalog is signed by {found}, which replaced the pinned key {pinned}, and the time to accept the \
         change automatically is over: ask the publisher, then pin the new key"
    )]
    ChangeOver {
        /// The pinned key.
        pinned: Box<PublicKey>,
        /// The key in the envelope.
        found: PublicKey,
    },
    /// Text is not a key.
    #[error("{what}: {why}")]
    KeyText {
        /// Kind of key that was expected.
        what: &'static str,
        /// The problem. It never contains the text.
        why: &'static str,
    },
    /// Text does not name a row of the table, whose rows are described. The message does not repeat
    /// the text: lookups are private.
    #[error("no such row: {0}")]
    NoSuchRow(String),
}

impl CatalogError {
    pub(crate) fn invalid(field: &'static str, why: impl Into<String>) -> Self {
        CatalogError::Invalid { field, why: why.into() }
    }

    /// Wraps a parser's message, shortened and without control characters: it may quote text of the
    /// peer, and is printed to terminals.
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

impl Diagnose for CatalogError {
    fn diagnosis(&self) -> Diagnosis<'_> {
        let encode = "tell the publisher to encode the table afresh";
        let upgrade = "upgrade sotto";
        let pin =
            "check the address; get the publisher's key from another source than this server, and pin it";
        let (code, fix) = match self {
            CatalogError::Params(error) => {
                return Diagnosis { fault: Fault::Server, fix: encode, ..error.diagnosis() };
            }
            CatalogError::KeyText { .. } => {
                let fix = "give the key as it was printed: sotto-pk: and 64 hexadecimal digits, or sotto-pq: and 128";
                return ErrorKind::Misuse.diagnosis("bad-key", fix);
            }
            CatalogError::NoSuchRow { .. } => {
                let diagnosis = ErrorKind::Misuse.diagnosis("no-such-row", "give a row or key of the table");
                return diagnosis.with_exit(Exit::Missing);
            }
            CatalogError::TooLarge { .. } | CatalogError::Malformed { .. } | CatalogError::Invalid { .. } => {
                ("bad-catalog", encode)
            }
            CatalogError::Version { .. } => ("catalog-version", upgrade),
            CatalogError::UnknownLayer { .. } => ("unknown-layer", upgrade),
            CatalogError::Disagree { .. } => ("catalog-disagrees", encode),
            CatalogError::WrongScheme { .. } => ("wrong-scheme", upgrade),
            CatalogError::BadSignature | CatalogError::BadMlDsaSignature => ("bad-signature", pin),
            CatalogError::NoMlDsaSignature { .. } => (
                "no-ml-dsa-signature",
                "do not use the table; ask the publisher whether it still signs with ML-DSA-44, and for its key",
            ),
            CatalogError::WrongKey { .. } | CatalogError::ChangeOver { .. } => ("wrong-key", pin),
        };
        ErrorKind::Peer.diagnosis(code, fix)
    }
}

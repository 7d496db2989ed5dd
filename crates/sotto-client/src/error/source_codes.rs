//! Names and fixes of the errors that come from schemes and catalogs.

use sotto_catalog::CatalogError;
use sotto_core::Error;
use sotto_oprf::OprfError;

pub(super) fn core_code(error: &Error) -> &'static str {
    match error {
        Error::Params(_) => "bad-params",
        Error::Misuse(_) => "misuse",
        Error::Peer(_) => "peer-misbehaved",
        Error::Exhausted(_) => "exhausted",
        Error::Unreadable => "unreadable",
        Error::BatchCodeFailure => "batch-code-failure",
        Error::Storage(_) => "storage",
        _ => "scheme",
    }
}

pub(super) fn core_fix(error: &Error) -> &'static str {
    match error {
        Error::Params(_) => "do not use the table: its publisher must encode it with sound parameters",
        Error::Misuse(_) => "correct the call",
        Error::Peer(_) => "tell the operator: the server sends damaged or forged bytes",
        Error::Exhausted(_) => "open the table again",
        Error::Unreadable => {
            "open the table again; do not look up the same row at once, and report nothing to the \
             server"
        }
        Error::BatchCodeFailure => {
            "look up some of these rows in the next request that is due, and not at once"
        }
        Error::Storage(_) => "check the disk",
        _ => "report this to the authors of sotto",
    }
}

pub(super) fn oprf_code(error: OprfError) -> &'static str {
    match error {
        OprfError::Closed => "does-not-open",
        OprfError::Future => "future-version",
        _ => "bad-evaluation",
    }
}

pub(super) fn catalog_code(error: &CatalogError) -> &'static str {
    match error {
        CatalogError::TooLarge { .. } | CatalogError::Malformed { .. } | CatalogError::Invalid { .. } => {
            "bad-catalog"
        }
        CatalogError::Version { .. } => "catalog-version",
        CatalogError::UnknownLayer { .. } => "unknown-layer",
        CatalogError::Disagree { .. } => "catalog-disagrees",
        CatalogError::WrongScheme { .. } => "wrong-scheme",
        CatalogError::BadSignature => "bad-signature",
        CatalogError::WrongKey { .. } | CatalogError::ChangeOver { .. } => "wrong-key",
        CatalogError::KeyText { .. } => "bad-key",
        CatalogError::NoSuchRow { .. } => "no-such-row",
        _ => "catalog",
    }
}

pub(super) fn catalog_fix(error: &CatalogError) -> &'static str {
    match error {
        CatalogError::Version { .. }
        | CatalogError::UnknownLayer { .. }
        | CatalogError::WrongScheme { .. } => "upgrade sotto",
        CatalogError::BadSignature | CatalogError::WrongKey { .. } | CatalogError::ChangeOver { .. } => {
            "check the address; get the publisher's key from another source than this server, and pin it"
        }
        CatalogError::KeyText { .. } => "give the key as it was printed: sotto-pk: and 64 hexadecimal digits",
        CatalogError::NoSuchRow { .. } => "give a row or key of the table",
        _ => "tell the publisher to encode the table afresh",
    }
}

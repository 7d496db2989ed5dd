//! The stable name and the fix of each [`ClientError`], and the party that can resolve it.

use super::ClientError;
use super::transport::TransportError;
use super::witness::WitnessError;
use sotto_catalog::CatalogError;
use sotto_core::Error;
use sotto_oprf::OprfError;
use sotto_wire::Code;

impl ClientError {
    /// A stable name of this error, for programs. A refusal has the name that the server sent
    /// (`spec/wire.md`).
    pub fn code(&self) -> &'static str {
        match self {
            ClientError::Core(error) => core_code(error),
            ClientError::Catalog(CatalogError::Params(error)) => core_code(error),
            ClientError::Catalog(error) => catalog_code(error),
            ClientError::TableName(_) => "bad-table-name",
            ClientError::CatalogDamaged { .. } => "catalog-damaged",
            ClientError::Frame(_) => "bad-answer",
            ClientError::Oprf(error) => oprf_code(*error),
            ClientError::Transport(error) => error.code(),
            ClientError::Refused(problem) => problem.code.text(),
            ClientError::EpochChanged { .. } => "epoch-changed",
            ClientError::NoDeltaChain { .. } => "no-delta-chain",
            ClientError::ClientDiscarded { .. } => "client-discarded",
            ClientError::Rollback { .. } => "rollback",
            ClientError::RetiredKey { .. } => "retired-key",
            ClientError::OtherSigner { .. } => "other-signer",
            ClientError::Equivocation { .. } => "equivocation",
            ClientError::OtherSnapshot { .. } => "other-snapshot",
            ClientError::Expired { .. } => "expired",
            ClientError::Witness(error) => error.code(),
            ClientError::WrongTable { .. } => "wrong-table",
            ClientError::UnknownScheme { .. } => "unknown-scheme",
            ClientError::ServerCount { .. } => "server-count",
            ClientError::SameEndpoint { .. } => "same-endpoint",
            ClientError::InsecurePlaintext { .. } => "insecure-plaintext",
            ClientError::NoRowProofs { .. } => "no-row-proofs",
            ClientError::RowProofInvalid { .. } => "row-proof-invalid",
            ClientError::CatalogsDiffer { .. } => "catalogs-differ",
            ClientError::NoCommonEpoch { .. } => "no-common-epoch",
            ClientError::Server { error, .. } => error.code(),
            ClientError::MissingArtifact { .. } => "missing-artifact",
            ClientError::TooManyRows { .. } => "too-many-rows",
            ClientError::CannotStream { .. } => "cannot-stream",
            ClientError::StackInconsistent { .. } => "stack-inconsistent",
            ClientError::Output(_) => "output",
            ClientError::StateNeeded { .. } => "state-needed",
            ClientError::NoEntropy => "no-entropy",
            #[cfg(feature = "cache")]
            ClientError::Cache(error) => error.code(),
            #[cfg(feature = "cache")]
            ClientError::State(error) => error.code(),
        }
    }

    /// What to do about this error.
    pub fn fix(&self) -> &str {
        match self {
            ClientError::Core(error) => core_fix(error),
            ClientError::Catalog(error) => catalog_fix(error),
            ClientError::Frame(_) => {
                "tell the operator; do not look up the same row again until the cause is known: a server can learn \
                 from how clients react to wrong answers"
            }
            ClientError::Oprf(_) => {
                "tell the publisher, and do not look up the same row again: a server can learn from how clients \
                 react to wrong answers"
            }
            ClientError::Transport(error) => error.fix(),
            ClientError::TableName(_) => "give the table's name as its publisher spells it",
            ClientError::CatalogDamaged { .. } => {
                "check the network and any proxy; if it happens again, tell the operator"
            }
            ClientError::Refused(problem) => &problem.fix,
            ClientError::EpochChanged { .. } => "open the table again and make a new query",
            ClientError::NoDeltaChain { .. } => {
                "wait until the client is prepared again; if this happens often, ask the operator to keep more deltas"
            }
            ClientError::ClientDiscarded { .. } => "open the table again",
            ClientError::StackInconsistent { .. } => {
                "open the stack again later: its publisher is writing a new epoch; if it happens again, ask the \
                 operator"
            }
            ClientError::NoRowProofs { .. } => {
                "ask the publisher to encode the table with --row-proofs, or look it up without proofs"
            }
            ClientError::RowProofInvalid { .. } => {
                "do not react at once, and do not look up the same row again: a server can learn from how clients \
                 react to wrong answers. Later, tell the publisher that this server changes rows"
            }
            ClientError::Rollback { .. } => {
                "ask the operator why an old copy of the table is served; if that is intended, forget the table in \
                 the cache (sotto forget, TableBuilder::forget)"
            }
            ClientError::RetiredKey { .. } => {
                "pin the new key, and ask the operator: an old copy of the table is served, or somebody has the old \
                 key. If the table was created again on purpose, forget it in the cache (sotto forget, \
                 TableBuilder::forget)"
            }
            ClientError::OtherSigner { .. } => {
                "ask the publisher whether the table was created again with another key; if so, forget it in the \
                 cache (sotto forget, TableBuilder::forget), and pin the new key"
            }
            ClientError::Equivocation { .. } => {
                "do not trust the publisher, and show both catalogs to others: it shows different tables to \
                 different people, or somebody else has its key. If the table was created again on purpose, forget \
                 it in the cache (sotto forget)"
            }
            ClientError::OtherSnapshot { .. } => {
                "ask the operator whether the server is ahead, behind, or shows another table; to continue with \
                 another snapshot, name it, with a digest from somebody you trust"
            }
            ClientError::Expired { .. } => {
                "check this machine's clock, then ask the publisher: it is late, or somebody serves an old table"
            }
            ClientError::Witness(error) => error.fix(),
            ClientError::WrongTable { .. } => "tell the operator: tables are mixed up at the server",
            ClientError::UnknownScheme { .. } => "use a build of sotto that includes the scheme",
            ClientError::ServerCount { .. } => {
                "give the address of each server that the scheme needs, server 0 first; several must be run by \
                 parties that do not share what they see"
            }
            ClientError::SameEndpoint { .. } => {
                "give the addresses of servers run by parties that do not share what they see"
            }
            ClientError::InsecurePlaintext { .. } => {
                "give https:// addresses; if the connection to at least one server is safe from whoever listens on \
                 the others, pass --insecure-plaintext"
            }
            ClientError::CatalogsDiffer { .. } => {
                "tell the operators: all servers of the table have to serve the same image"
            }
            ClientError::NoCommonEpoch { .. } => {
                "try again; if it happens again, tell the operators: one server is behind the others by several \
                 epochs"
            }
            ClientError::Server { error, .. } => match error.as_ref() {
                ClientError::Refused(problem) if problem.code == Code::WrongServer => {
                    "give the addresses in the order of the servers' roles, server 0 first"
                }
                error => error.fix(),
            },
            ClientError::MissingArtifact { .. } => "tell the publisher to encode the table afresh",
            ClientError::TooManyRows { .. } => {
                "make several requests; the server sees the number of rows either way"
            }
            ClientError::CannotStream { .. } => "look up the whole row",
            ClientError::Output(_) => "check the disk or the output",
            ClientError::StateNeeded { .. } => {
                "give a folder for the state, or choose to keep it in memory, where it is lost with the process"
            }
            ClientError::NoEntropy => "repair the system's random device",
            #[cfg(feature = "cache")]
            ClientError::Cache(error) => error.fix(),
            #[cfg(feature = "cache")]
            ClientError::State(error) => error.fix(),
        }
    }
}

/// The party that can resolve an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The calling code, or the person who typed the request.
    Caller,
    /// The server, its operator, or the table's publisher.
    Server,
    /// The network between client and server, or a temporary condition.
    Network,
    /// The machine of the client.
    Machine,
}

impl ClientError {
    /// The party that can resolve this error.
    pub fn fault(&self) -> Fault {
        match self {
            ClientError::Core(Error::Misuse(_) | Error::Exhausted(_)) => Fault::Caller,
            ClientError::Catalog(CatalogError::NoSuchRow { .. } | CatalogError::KeyText { .. }) => {
                Fault::Caller
            }
            ClientError::Server { error, .. } => error.fault(),
            ClientError::Witness(
                WitnessError::Count { .. } | WitnessError::NoneNeeded { .. } | WitnessError::NoClock,
            )
            | ClientError::TableName(_)
            | ClientError::TooManyRows { .. }
            | ClientError::ServerCount { .. }
            | ClientError::SameEndpoint { .. }
            | ClientError::InsecurePlaintext { .. }
            | ClientError::CannotStream { .. }
            | ClientError::StateNeeded { .. }
            | ClientError::Transport(TransportError::Address { .. }) => Fault::Caller,
            ClientError::Transport(
                TransportError::Connect { .. }
                | TransportError::UnknownHost { .. }
                | TransportError::Intermediary { .. }
                | TransportError::Lost(_)
                | TransportError::Timeout(_),
            ) => Fault::Network,
            ClientError::Refused(problem) if problem.code.is_retryable() => Fault::Network,
            ClientError::CatalogDamaged { .. }
            | ClientError::EpochChanged { .. }
            | ClientError::NoCommonEpoch { .. }
            | ClientError::StackInconsistent { .. } => Fault::Network,
            ClientError::UnknownScheme { .. } | ClientError::Witness(WitnessError::Kept { .. }) => {
                Fault::Machine
            }
            ClientError::Core(Error::Storage(_)) | ClientError::Output(_) | ClientError::NoEntropy => {
                Fault::Machine
            }
            #[cfg(feature = "cache")]
            ClientError::Cache(_) | ClientError::State(_) => Fault::Machine,
            _ => Fault::Server,
        }
    }
}

fn core_code(error: &Error) -> &'static str {
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

fn core_fix(error: &Error) -> &'static str {
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

fn oprf_code(error: OprfError) -> &'static str {
    match error {
        OprfError::Closed => "does-not-open",
        OprfError::Future => "future-version",
        _ => "bad-evaluation",
    }
}

fn catalog_code(error: &CatalogError) -> &'static str {
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

fn catalog_fix(error: &CatalogError) -> &'static str {
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

//! What each error means: its stable name, its kind, and what to do. Every other classification
//! follows from the kind: the party at fault, an exit code, and the class of an exception.

use super::ClientError;
use ErrorKind::{Machine, Misuse, Network, Params, Peer, Row, Storage, Unreadable};
use serde::Serialize;
use sotto_catalog::CatalogError;
use sotto_core::Error;
use sotto_oprf::OprfError;
use sotto_wire::{Problem, ProblemCode};

/// The kind of an error, which decides the exception that a language raises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ErrorKind {
    /// The caller's fault.
    Misuse,
    /// The caller's fault: the table has no such row.
    Row,
    /// The parameters of the table are refused.
    Params,
    /// The fault of the server or the publisher: another signature, damaged answers.
    Peer,
    /// A fault of the network.
    Network,
    /// No response arrived in time.
    Timeout,
    /// A fault of this machine's disk, or of what replaces it.
    Storage,
    /// An unreadable answer, of unknown fault. A caller that requests the same row again at once
    /// reveals that to the server, which may have damaged the answer for this purpose.
    Unreadable,
    /// A fault of this machine, or of sotto itself.
    Machine,
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

impl ErrorKind {
    /// The diagnosis of an error of this kind.
    pub(super) fn diagnosis<'a>(self, code: &'static str, fix: &'a str) -> Diagnosis<'a> {
        Diagnosis { kind: self, code, fix }
    }
}

impl From<ErrorKind> for Fault {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Misuse | ErrorKind::Row => Fault::Caller,
            ErrorKind::Params | ErrorKind::Peer | ErrorKind::Unreadable => Fault::Server,
            ErrorKind::Network | ErrorKind::Timeout => Fault::Network,
            ErrorKind::Storage | ErrorKind::Machine => Fault::Machine,
        }
    }
}

/// What an error means, to programs and to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Diagnosis<'a> {
    /// Kind of the error.
    pub kind: ErrorKind,
    /// Stable name, for programs.
    pub code: &'static str,
    /// What to do, for a person.
    pub fix: &'a str,
}

/// An error that says of what kind it is, and what to do.
pub trait Diagnose {
    /// The kind, the stable name and the fix of this error.
    fn diagnosis(&self) -> Diagnosis<'_>;
}

impl ClientError {
    /// A stable name of this error, for programs. A refusal has the name that the server sent
    /// (`spec/wire.md`).
    pub fn code(&self) -> &'static str {
        self.diagnosis().code
    }

    /// What to do about this error.
    pub fn fix(&self) -> &str {
        self.diagnosis().fix
    }

    /// The party that can resolve this error.
    pub fn fault(&self) -> Fault {
        match self.root() {
            // The publisher chose the batch code and the parameters.
            ClientError::Core(Error::BatchCodeFailure) | ClientError::Catalog(CatalogError::Params(_)) => {
                Fault::Server
            }
            error => error.diagnosis().kind.into(),
        }
    }
}

impl Diagnose for ClientError {
    fn diagnosis(&self) -> Diagnosis<'_> {
        match self {
            ClientError::Core(error) => error.diagnosis(),
            ClientError::Catalog(error) => error.diagnosis(),
            ClientError::Oprf(error) => error.diagnosis(),
            ClientError::Transport(error) => error.diagnosis(),
            ClientError::Refused(problem) => problem.diagnosis(),
            ClientError::Witness(error) => error.diagnosis(),
            #[cfg(feature = "cache")]
            ClientError::Cache(error) => error.diagnosis(),
            #[cfg(feature = "cache")]
            ClientError::State(error) => error.diagnosis(),
            ClientError::Server { error, .. } => match error.as_ref() {
                ClientError::Refused(problem) if problem.code == ProblemCode::WrongServer => {
                    let fix = "give the addresses in the order of the servers' roles, server 0 first";
                    Diagnosis { fix, ..problem.diagnosis() }
                }
                error => error.diagnosis(),
            },
            ClientError::Frame(_) => Peer.diagnosis(
                "bad-answer",
                "tell the operator; do not look up the same row again until the cause is known: a server can learn \
                 from how clients react to wrong answers",
            ),
            ClientError::TableName(_) => {
                Misuse.diagnosis("bad-table-name", "give the table's name as its publisher spells it")
            }
            ClientError::CatalogDamaged { .. } => Network.diagnosis(
                "catalog-damaged",
                "check the network and any proxy; if it happens again, tell the operator",
            ),
            ClientError::EpochChanged { .. } => {
                Network.diagnosis("epoch-changed", "open the table again and make a new query")
            }
            ClientError::NoDeltaChain { .. } => Peer.diagnosis(
                "no-delta-chain",
                "wait until the client is prepared again; if this happens often, ask the operator to keep more deltas",
            ),
            ClientError::ClientDiscarded { .. } => Peer.diagnosis("client-discarded", "open the table again"),
            ClientError::StackInconsistent { .. } => Network.diagnosis(
                "stack-inconsistent",
                "open the stack again later: its publisher is writing a new epoch; if it happens again, ask the \
                 operator",
            ),
            ClientError::NoRowProofs { .. } => Peer.diagnosis(
                "no-row-proofs",
                "ask the publisher to encode the table with --row-proofs, or look it up without proofs",
            ),
            ClientError::RowProofInvalid { .. } => Unreadable.diagnosis(
                "row-proof-invalid",
                "do not react at once, and do not look up the same row again: a server can learn from how clients \
                 react to wrong answers. Later, tell the publisher that this server changes rows",
            ),
            ClientError::Rollback { .. } => Peer.diagnosis(
                "rollback",
                "ask the operator why an old copy of the table is served; if that is intended, forget the table in \
                 the cache (sotto forget, TableBuilder::forget)",
            ),
            ClientError::RetiredKey { .. } => Peer.diagnosis(
                "retired-key",
                "pin the new key, and ask the operator: an old copy of the table is served, or somebody has the old \
                 key. If the table was created again on purpose, forget it in the cache (sotto forget, \
                 TableBuilder::forget)",
            ),
            ClientError::OtherSigner { .. } => Peer.diagnosis(
                "other-signer",
                "ask the publisher whether the table was created again with another key; if so, forget it in the \
                 cache (sotto forget, TableBuilder::forget), and pin the new key",
            ),
            ClientError::Equivocation { .. } => Peer.diagnosis(
                "equivocation",
                "do not trust the publisher, and show both catalogs to others: it shows different tables to \
                 different people, or somebody else has its key. If the table was created again on purpose, forget \
                 it in the cache (sotto forget)",
            ),
            ClientError::OtherSnapshot { .. } => Peer.diagnosis(
                "other-snapshot",
                "ask the operator whether the server is ahead, behind, or shows another table; to continue with \
                 another snapshot, name it, with a digest from somebody you trust",
            ),
            ClientError::Expired { .. } => Peer.diagnosis(
                "expired",
                "check this machine's clock, then ask the publisher: it is late, or somebody serves an old table",
            ),
            ClientError::WrongTable { .. } => {
                Peer.diagnosis("wrong-table", "tell the operator: tables are mixed up at the server")
            }
            ClientError::UnknownScheme { .. } => {
                Machine.diagnosis("unknown-scheme", "use a build of sotto that includes the scheme")
            }
            ClientError::ServerCount { .. } => Misuse.diagnosis(
                "server-count",
                "give the address of each server that the scheme needs, server 0 first; several must be run by \
                 parties that do not share what they see",
            ),
            ClientError::SameEndpoint { .. } => Misuse.diagnosis(
                "same-endpoint",
                "give the addresses of servers run by parties that do not share what they see",
            ),
            ClientError::InsecurePlaintext { .. } => Misuse.diagnosis(
                "insecure-plaintext",
                "give https:// addresses; if the connection to at least one server is safe from whoever listens on \
                 the others, pass --insecure-plaintext",
            ),
            ClientError::CatalogsDiffer { .. } => Peer.diagnosis(
                "catalogs-differ",
                "tell the operators: all servers of the table have to serve the same image",
            ),
            ClientError::NoCommonEpoch { .. } => Network.diagnosis(
                "no-common-epoch",
                "try again; if it happens again, tell the operators: one server is behind the others by several \
                 epochs",
            ),
            ClientError::MissingArtifact { .. } => {
                Peer.diagnosis("missing-artifact", "tell the publisher to encode the table afresh")
            }
            ClientError::TooManyRows { .. } => Misuse.diagnosis(
                "too-many-rows",
                "make several requests; the server sees the number of rows either way",
            ),
            ClientError::CannotStream { .. } => Misuse.diagnosis("cannot-stream", "look up the whole row"),
            ClientError::Output(_) => Storage.diagnosis("output", "check the disk or the output"),
            ClientError::StateNeeded { .. } => Misuse.diagnosis(
                "state-needed",
                "give a folder for the state, or choose to keep it in memory, where it is lost with the process",
            ),
            ClientError::NoEntropy => Machine.diagnosis("no-entropy", "repair the system's random device"),
        }
    }
}

impl Diagnose for Problem {
    fn diagnosis(&self) -> Diagnosis<'_> {
        let kind = if self.code.is_retryable() { Network } else { Peer };
        kind.diagnosis(self.code.text(), &self.fix)
    }
}

impl Diagnose for Error {
    fn diagnosis(&self) -> Diagnosis<'_> {
        match self {
            Error::Params(_) => Params.diagnosis(
                "bad-params",
                "do not use the table: its publisher must encode it with sound parameters",
            ),
            Error::Misuse(sotto_core::Misuse::IndexPastEnd { .. }) => {
                Row.diagnosis("misuse", "correct the call")
            }
            Error::Misuse(_) => Misuse.diagnosis("misuse", "correct the call"),
            Error::Peer(_) => Peer
                .diagnosis("peer-misbehaved", "tell the operator: the server sends damaged or forged bytes"),
            Error::Exhausted(_) => Misuse.diagnosis("exhausted", "open the table again"),
            Error::Unreadable => Unreadable.diagnosis(
                "unreadable",
                "open the table again; do not look up the same row at once, and report nothing to the \
                 server",
            ),
            Error::BatchCodeFailure => Misuse.diagnosis(
                "batch-code-failure",
                "look up some of these rows in the next request that is due, and not at once",
            ),
            Error::Storage(_) => Storage.diagnosis("storage", "check the disk"),
            _ => Machine.diagnosis("scheme", "report this to the authors of sotto"),
        }
    }
}

impl Diagnose for OprfError {
    fn diagnosis(&self) -> Diagnosis<'_> {
        let code = match self {
            OprfError::Closed => "does-not-open",
            OprfError::Future => "future-version",
            _ => "bad-evaluation",
        };
        let fix = "tell the publisher, and do not look up the same row again: a server can learn from how clients \
             react to wrong answers";
        Peer.diagnosis(code, fix)
    }
}

impl Diagnose for CatalogError {
    fn diagnosis(&self) -> Diagnosis<'_> {
        let encode = "tell the publisher to encode the table afresh";
        let upgrade = "upgrade sotto";
        let pin =
            "check the address; get the publisher's key from another source than this server, and pin it";
        match self {
            CatalogError::Params(error) => Diagnosis { fix: encode, ..error.diagnosis() },
            CatalogError::TooLarge { .. } | CatalogError::Malformed { .. } | CatalogError::Invalid { .. } => {
                Peer.diagnosis("bad-catalog", encode)
            }
            CatalogError::Version { .. } => Peer.diagnosis("catalog-version", upgrade),
            CatalogError::UnknownLayer { .. } => Peer.diagnosis("unknown-layer", upgrade),
            CatalogError::Disagree { .. } => Peer.diagnosis("catalog-disagrees", encode),
            CatalogError::WrongScheme { .. } => Peer.diagnosis("wrong-scheme", upgrade),
            CatalogError::BadSignature => Peer.diagnosis("bad-signature", pin),
            CatalogError::WrongKey { .. } | CatalogError::ChangeOver { .. } => {
                Peer.diagnosis("wrong-key", pin)
            }
            CatalogError::KeyText { .. } => Misuse
                .diagnosis("bad-key", "give the key as it was printed: sotto-pk: and 64 hexadecimal digits"),
            CatalogError::NoSuchRow { .. } => {
                Misuse.diagnosis("no-such-row", "give a row or key of the table")
            }
            _ => Peer.diagnosis("catalog", encode),
        }
    }
}

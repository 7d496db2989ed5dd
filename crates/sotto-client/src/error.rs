//! What went wrong, by whose fault, and what to do.

mod below;

#[cfg(feature = "cache")]
use crate::cache::CacheError;
#[cfg(feature = "cache")]
use crate::state::StateError;
use crate::transport::TransportError;
use below::{catalog_code, catalog_fix, core_code, core_fix, oprf_code};
use sotto_catalog::{CatalogError, TableName};
use sotto_core::{Epoch, Error};
use sotto_oprf::OprfError;
use sotto_wire::{Code, FrameError, Problem};
use std::fmt;

/// Shorthand for results of this crate.
pub type Result<T, E = ClientError> = std::result::Result<T, E>;

/// A lookup, or the preparation for one, failed. `Debug` gives the sentence and what to do, since that is what a `main` prints
/// which returns it.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The scheme or its contract.
    #[error(transparent)]
    Core(#[from] Error),
    /// The catalog, its signature, or the key that made it.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The catalog came damaged, and differently so each time.
    #[error("the table's catalog was damaged on its way, twice: {why}")]
    CatalogDamaged {
        /// What was wrong with it the second time.
        why: String,
    },
    /// The server's frame is not an answer to what was asked.
    #[error("the server's answer is not valid: {0}")]
    Frame(#[from] FrameError),
    /// The masks of a symmetric table: an evaluation, or what it was to open.
    #[error(transparent)]
    Oprf(#[from] OprfError),
    /// No response came.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The server said no.
    #[error("the server refused: {}", .0.message)]
    Refused(Problem),
    /// The table has moved on since it was opened: open it again, and make a new query.
    #[error("epoch {asked} of the table is over{}", newest.map(|n| format!(", the newest is {n}")).unwrap_or_default())]
    EpochChanged {
        /// The epoch of the session.
        asked: Epoch,
        /// The newest, if the server said.
        newest: Option<Epoch>,
    },
    /// A client's state cannot be brought from its epoch to a later one: it has to be made anew, from the rows.
    #[error("no way leads from epoch {from} of the table to epoch {to}: {why}")]
    NoWay {
        /// The epoch of the state.
        from: Epoch,
        /// The epoch it was to come to.
        to: Epoch,
        /// Why not.
        why: &'static str,
    },
    /// A client that could not follow the table is of no use any more.
    #[error("the client of epoch {epoch} could not follow the table, and was discarded")]
    Discarded {
        /// The epoch it was of.
        epoch: Epoch,
    },
    /// An older catalog than one seen before.
    #[error("the server offers epoch {offered} of the table, epoch {seen} was seen before")]
    Rollback {
        /// The newest epoch seen.
        seen: Epoch,
        /// The epoch offered.
        offered: Epoch,
    },
    /// Another catalog of an epoch that was seen before, under the same key.
    #[error(
        "there are two catalogs of epoch {epoch}, both signed by the key of the table{}",
        kept.as_ref().map(|kept| format!(": {kept}")).unwrap_or_default()
    )]
    TwoCatalogs {
        /// The epoch.
        epoch: Epoch,
        /// Where both are kept, if there is a cache.
        kept: Option<String>,
    },
    /// The catalog of another table.
    #[error("the catalog is that of table {found}, {asked} was asked for")]
    WrongTable {
        /// The table asked for.
        asked: TableName,
        /// The table in the catalog.
        found: TableName,
    },
    /// A scheme this build does not carry.
    #[error("the table needs scheme {id:?}, which this build does not carry")]
    UnknownScheme {
        /// The scheme's id.
        id: String,
    },
    /// A table whose scheme asks more servers than there are, or fewer.
    #[error("the table's scheme {id:?} asks {servers} server(s), and the address(es) of {given} were given")]
    Servers {
        /// The scheme's id.
        id: String,
        /// How many servers it asks.
        servers: usize,
        /// How many there are.
        given: u8,
    },
    /// Two servers of a table that are one.
    #[error(
        "{first} and {second} are one endpoint ({why}): it would see both halves of every question, and what is asked"
    )]
    SameEndpoint {
        /// One address.
        first: String,
        /// The other.
        second: String,
        /// What they have in common.
        why: String,
    },
    /// Several servers, one of which is asked in the clear.
    #[error(
        "{url} is not https: whoever listens on the way to all servers of a table sees each part of a question, and what is asked"
    )]
    Plaintext {
        /// Its address.
        url: String,
    },
    /// A server that shows another catalog than the first one does.
    #[error("server {server} shows another catalog for epoch {epoch} of the table than server 0")]
    CatalogsDiffer {
        /// The server, counted from 0.
        server: u8,
        /// The epoch.
        epoch: Epoch,
    },
    /// A server that has left behind the newest epoch another one has reached.
    #[error(
        "server {server} does not serve epoch {epoch} of the table, the newest that another of its servers has"
    )]
    NoCommonEpoch {
        /// The server, counted from 0.
        server: u8,
        /// The epoch.
        epoch: Epoch,
    },
    /// What went wrong at one of several servers.
    #[error("server {server}: {error}")]
    Server {
        /// The server, counted from 0.
        server: u8,
        /// What went wrong.
        error: Box<ClientError>,
    },
    /// An artifact the scheme needs is not in the catalog, or has another size there.
    #[error("the catalog lacks the {artifact} of {bytes} bytes that its scheme needs")]
    MissingArtifact {
        /// Which.
        artifact: &'static str,
        /// Its size by the parameters.
        bytes: u64,
    },
    /// More rows than one ask holds.
    #[error("{rows} rows in one request, this table takes 1 to {most}")]
    TooManyRows {
        /// Rows wanted.
        rows: usize,
        /// Rows one ask holds.
        most: usize,
    },
    /// A table whose rows cannot be streamed.
    #[error("the table cannot be streamed: {why}")]
    CannotStream {
        /// Why not.
        why: &'static str,
    },
    /// A stack and its tables do not come to rest in one epoch.
    #[error("stack {stack} and its tables are not of one epoch")]
    StackMoves {
        /// The stack.
        stack: TableName,
    },
    /// What a streamed row was written to.
    #[error("the row cannot be written: {0}")]
    Output(std::io::Error),
    /// The scheme's clients have a state that must not be lost, and nobody said where to keep it.
    #[error("a client of {scheme} has a state that must not be lost, and nobody said where to keep it")]
    StateNeeded {
        /// The scheme's id.
        scheme: String,
    },
    /// The operating system gave no randomness.
    #[error("the operating system gives no randomness, and no query can be made without")]
    NoEntropy,
    /// The cache.
    #[cfg(feature = "cache")]
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The state of a client that must not lose it.
    #[cfg(feature = "cache")]
    #[error(transparent)]
    State(#[from] StateError),
}

impl fmt::Debug for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}\n  fix: {}", self.fix())
    }
}

/// Who can mend it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The calling code, or the person who typed.
    Caller,
    /// The server, its operator, or the table's publisher.
    Server,
    /// What lies in between, or the moment.
    Network,
    /// This machine.
    Machine,
}

impl ClientError {
    /// The same, with the server it happened at, where there are several. That an epoch is over is left as it is:
    /// it is mended at all servers, whichever has said so.
    pub(crate) fn of_server(self, server: u8, servers: u8) -> Self {
        match self {
            ClientError::EpochChanged { .. }
            | ClientError::Servers { .. }
            | ClientError::CatalogsDiffer { .. }
            | ClientError::NoCommonEpoch { .. }
            | ClientError::Server { .. } => self,
            error if servers > 1 => ClientError::Server { server, error: Box::new(error) },
            error => error,
        }
    }

    /// What went wrong, without the server it happened at.
    pub fn root(&self) -> &ClientError {
        match self {
            ClientError::Server { error, .. } => error.root(),
            error => error,
        }
    }

    /// A stable name for programs. A refusal has the name the server gave it (`spec/wire.md`).
    pub fn code(&self) -> &'static str {
        match self {
            ClientError::Core(error) => core_code(error),
            ClientError::Catalog(CatalogError::Params(error)) => core_code(error),
            ClientError::Catalog(error) => catalog_code(error),
            ClientError::CatalogDamaged { .. } => "catalog-damaged",
            ClientError::Frame(_) => "bad-answer",
            ClientError::Oprf(error) => oprf_code(*error),
            ClientError::Transport(error) => error.code(),
            ClientError::Refused(problem) => problem.code.text(),
            ClientError::EpochChanged { .. } => "epoch-changed",
            ClientError::NoWay { .. } => "no-way",
            ClientError::Discarded { .. } => "discarded",
            ClientError::Rollback { .. } => "rollback",
            ClientError::TwoCatalogs { .. } => "two-catalogs",
            ClientError::WrongTable { .. } => "wrong-table",
            ClientError::UnknownScheme { .. } => "unknown-scheme",
            ClientError::Servers { .. } => "number-of-servers",
            ClientError::SameEndpoint { .. } => "same-endpoint",
            ClientError::Plaintext { .. } => "plaintext",
            ClientError::CatalogsDiffer { .. } => "catalogs-differ",
            ClientError::NoCommonEpoch { .. } => "no-common-epoch",
            ClientError::Server { error, .. } => error.code(),
            ClientError::MissingArtifact { .. } => "missing-artifact",
            ClientError::TooManyRows { .. } => "too-many-rows",
            ClientError::CannotStream { .. } => "cannot-stream",
            ClientError::StackMoves { .. } => "stack-moves",
            ClientError::Output(_) => "output",
            ClientError::StateNeeded { .. } => "state-needed",
            ClientError::NoEntropy => "no-entropy",
            #[cfg(feature = "cache")]
            ClientError::Cache(error) => error.code(),
            #[cfg(feature = "cache")]
            ClientError::State(error) => error.code(),
        }
    }

    /// Who can mend it.
    pub fn fault(&self) -> Fault {
        match self {
            ClientError::Core(Error::Misuse(_) | Error::Exhausted(_)) => Fault::Caller,
            ClientError::Catalog(CatalogError::NoSuchRow { .. } | CatalogError::KeyText { .. }) => {
                Fault::Caller
            }
            ClientError::Server { error, .. } => error.fault(),
            ClientError::TooManyRows { .. }
            | ClientError::Servers { .. }
            | ClientError::SameEndpoint { .. }
            | ClientError::Plaintext { .. }
            | ClientError::CannotStream { .. }
            | ClientError::StateNeeded { .. }
            | ClientError::Transport(TransportError::Address { .. }) => Fault::Caller,
            ClientError::Transport(
                TransportError::Connect { .. } | TransportError::Lost(_) | TransportError::Timeout(_),
            ) => Fault::Network,
            ClientError::Refused(problem) if problem.code.is_retryable() => Fault::Network,
            ClientError::CatalogDamaged { .. }
            | ClientError::EpochChanged { .. }
            | ClientError::NoCommonEpoch { .. }
            | ClientError::StackMoves { .. } => Fault::Network,
            ClientError::UnknownScheme { .. } => Fault::Machine,
            ClientError::Core(Error::Storage(_)) | ClientError::Output(_) | ClientError::NoEntropy => {
                Fault::Machine
            }
            #[cfg(feature = "cache")]
            ClientError::Cache(_) | ClientError::State(_) => Fault::Machine,
            _ => Fault::Server,
        }
    }

    /// What to do.
    pub fn fix(&self) -> &str {
        match self {
            ClientError::Core(error) => core_fix(error),
            ClientError::Catalog(error) => catalog_fix(error),
            ClientError::Frame(_) => {
                "tell the operator; do not ask for the same row again until you know why: a server can learn \
                 from how clients react to wrong answers"
            }
            ClientError::Oprf(_) => {
                "tell the publisher, and do not ask for the same row again: a server can learn from how clients react \
                to wrong answers"
            }
            ClientError::Transport(error) => error.fix(),
            ClientError::CatalogDamaged { .. } => {
                "check the network, and any proxy in between; if it stays so, tell the operator"
            }
            ClientError::Refused(problem) => &problem.fix,
            ClientError::EpochChanged { .. } => "open the table again and make a new query",
            ClientError::NoWay { .. } => {
                "nothing: the client is prepared anew; if this happens often, ask the operator to keep more deltas"
            }
            ClientError::Discarded { .. } => "open the table again",
            ClientError::StackMoves { .. } => {
                "open the stack again in a while: its publisher is writing a new epoch; if it stays so, ask the operator"
            }
            ClientError::Rollback { .. } => {
                "an old copy of the table is being served: ask the operator, and if this is meant, delete what \
                 the cache remembers of the table"
            }
            ClientError::TwoCatalogs { .. } => {
                "the publisher shows different tables to different people, or somebody else has its key: do not trust it, and \
                 show both catalogs to others"
            }
            ClientError::WrongTable { .. } => "tell the operator: tables are mixed up at the server",
            ClientError::UnknownScheme { .. } => "use a build of sotto that carries the scheme",
            ClientError::Servers { .. } => {
                "give the address of each server its scheme asks, server 0 first; several must be run by parties that do \
                 not share what they see"
            }
            ClientError::SameEndpoint { .. } => {
                "give the addresses of servers run by parties that do not share what they see"
            }
            ClientError::Plaintext { .. } => {
                "give https:// addresses; if the way to one server at least is safe from whoever listens on the others, \
                 say --insecure-plaintext"
            }
            ClientError::CatalogsDiffer { .. } => {
                "tell the operators: all servers of the table have to serve the same image"
            }
            ClientError::NoCommonEpoch { .. } => {
                "try again; if it stays so, tell the operators: one server is behind the others by several epochs"
            }
            ClientError::Server { error, .. } => match error.as_ref() {
                ClientError::Refused(problem) if problem.code == Code::WrongServer => {
                    "give the addresses in the order of the servers' roles, server 0 first"
                }
                error => error.fix(),
            },
            ClientError::MissingArtifact { .. } => "tell the publisher to encode the table afresh",
            ClientError::TooManyRows { .. } => {
                "make several requests; how many is visible to the server either way"
            }
            ClientError::CannotStream { .. } => "look the row up whole",
            ClientError::Output(_) => "check the disk, or where the row is to go",
            ClientError::StateNeeded { .. } => {
                "give a folder for the state; or say that it may live in memory, and be lost with the process"
            }
            ClientError::NoEntropy => "mend the system's random device",
            #[cfg(feature = "cache")]
            ClientError::Cache(error) => error.fix(),
            #[cfg(feature = "cache")]
            ClientError::State(error) => error.fix(),
        }
    }
}

#[cfg(feature = "cache")]
impl From<sotto_prg::NoEntropy> for ClientError {
    fn from(_: sotto_prg::NoEntropy) -> Self {
        ClientError::NoEntropy
    }
}

//! Errors of the client: what went wrong, whose fault it is, and what to do.

#[cfg(feature = "cache")]
pub mod cache;
mod diagnosis;
#[cfg(feature = "cache")]
pub mod state;
pub mod transport;
pub mod witness;

pub use sotto_core::{Diagnose, Diagnosis, ErrorKind, Exit, Fault};

#[cfg(feature = "cache")]
use cache::CacheError;
use sotto_catalog::{Anchor, CatalogError, Hex32, PublicKey, TableName, TableNameError};
use sotto_core::{Epoch, Error};
use sotto_oprf::OprfError;
use sotto_wire::{FrameError, Problem};
#[cfg(feature = "cache")]
use state::StateError;
use std::fmt;
use transport::TransportError;
use witness::WitnessError;

/// Result of this crate's functions.
pub type Result<T, E = ClientError> = std::result::Result<T, E>;

/// A failure of a lookup, or of the preparation for one. `Debug` prints the sentence and the fix,
/// since a `main` that returns the error prints that.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// An error of the scheme, or of the contract between scheme and caller.
    #[error(transparent)]
    Core(#[from] Error),
    /// An error in the catalog, its signature, or the key that made it.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// A text that is no valid table name.
    #[error(transparent)]
    TableName(#[from] TableNameError),
    /// The catalog arrived damaged twice, and differently each time: the second time in this way.
    #[error("the table's catalog arrived damaged twice: {0}")]
    CatalogDamaged(String),
    /// The server's frame is no answer to the request.
    #[error("the server's answer is not valid: {0}")]
    Frame(#[from] FrameError),
    /// An error in the masks of a symmetric table: in an evaluation, or in a row that it was to
    /// open.
    #[error(transparent)]
    Oprf(#[from] OprfError),
    /// No response arrived.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The server refused the request.
    #[error("the server refused: {}", .0.message)]
    Refused(Problem),
    /// The table has moved to another epoch since it was opened: open it again, and make a new
    /// query.
    #[error(
        "epoch {asked} of the table is no longer current{}",
        newest.map(|n| format!("; the newest is epoch {n}")).unwrap_or_default()
    )]
    EpochChanged {
        /// Epoch of the session.
        asked: Epoch,
        /// Newest epoch, if the server named it.
        newest: Option<Epoch>,
    },
    /// The client's state cannot be brought from its epoch to a later one: it has to be prepared
    /// again, from the rows.
    #[error("no delta chain from epoch {from} to epoch {to}: {why}")]
    NoDeltaChain {
        /// Epoch of the state.
        from: Epoch,
        /// Epoch that the state was to be brought to.
        to: Epoch,
        /// Why it cannot.
        why: &'static str,
    },
    /// The client of this epoch could not follow the table and was discarded.
    #[error("the client of epoch {0} could not be advanced to the next epoch and was discarded")]
    ClientDiscarded(Epoch),
    /// The catalog is older than one seen before.
    #[error("the server offers epoch {offered} of the table, but epoch {seen} was seen before")]
    Rollback {
        /// Newest epoch seen.
        seen: Epoch,
        /// Epoch of the catalog.
        offered: Epoch,
    },
    /// The catalog is signed by a key that has named its successor, as this client has seen.
    #[error("epoch {epoch} of the table is signed by {key}, which {by} replaced from epoch {until_epoch} on")]
    RetiredKey {
        /// Key that signed the catalog.
        key: Box<PublicKey>,
        /// Key that signs now.
        by: PublicKey,
        /// Epoch from which on the old key is no longer valid.
        until_epoch: Epoch,
        /// Epoch of the catalog.
        epoch: Epoch,
    },
    /// The catalog is signed by the key that the caller pins, but this client knows the table under
    /// another key.
    #[error(
        "the table is signed by {found}, the remembered key is {known}, and no key succession links them"
    )]
    OtherSigner {
        /// Key that signed the last catalog seen.
        known: Box<PublicKey>,
        /// Key that signed this one.
        found: PublicKey,
    },
    /// The catalog differs from one of the same epoch that was seen before, under the same key.
    #[error(
        "two different catalogs of epoch {epoch} are signed by the key of the table{}",
        kept.as_ref().map(|kept| format!(": {kept}")).unwrap_or_default()
    )]
    Equivocation {
        /// Epoch of both catalogs.
        epoch: Epoch,
        /// Paths of both catalogs, if there is a cache.
        kept: Option<String>,
    },
    /// The snapshot differs from the one that the caller named.
    #[error("expected snapshot {expected} of {table}, got {found} (epoch {epoch})")]
    OtherSnapshot {
        /// Name of the table or stack.
        table: TableName,
        /// Epoch that the server shows.
        epoch: Epoch,
        /// Digest of the catalog that the server shows.
        found: Hex32,
        /// Digest that the caller named.
        expected: Hex32,
    },
    /// The anchor differs from the one that the caller named.
    #[error(
        "expected anchor {expected} of {table}, got {} (epoch {epoch})",
        found.as_ref().map_or("none", Anchor::as_str)
    )]
    OtherAnchor {
        /// Name of the table or stack.
        table: TableName,
        /// Epoch that the server shows.
        epoch: Epoch,
        /// Anchor of that epoch.
        found: Option<Anchor>,
        /// Anchor that the caller named.
        expected: Anchor,
    },
    /// The catalog has expired.
    #[error("the table's catalog of epoch {epoch} expired {} hours ago", ago / 3600)]
    Expired {
        /// Epoch of the catalog.
        epoch: Epoch,
        /// Seconds since it expired.
        ago: u64,
    },
    /// No witness vouches that the publisher shows this catalog to everybody.
    #[error(transparent)]
    Witness(#[from] WitnessError),
    /// The catalog is that of another table.
    #[error("expected the catalog of table {asked}, got that of {found}")]
    WrongTable {
        /// Table that was requested.
        asked: TableName,
        /// Table that the catalog names.
        found: TableName,
    },
    /// The scheme of this id is not part of this build.
    #[error("the table uses scheme {0:?}, which this build does not include")]
    UnknownScheme(String),
    /// The scheme needs another number of servers than there are.
    #[error("expected {servers} server address(es) for scheme {id:?}, got {given}")]
    ServerCount {
        /// Id of the scheme.
        id: String,
        /// Number of servers that the scheme needs.
        servers: usize,
        /// Number of servers that were given.
        given: u8,
    },
    /// Two servers of a table are one endpoint.
    #[error(
        "{first} and {second} are one endpoint ({why}), which would see all queries of a lookup and learn the row"
    )]
    SameEndpoint {
        /// First address.
        first: String,
        /// Second address.
        second: String,
        /// What they have in common.
        why: String,
    },
    /// One of several servers, at this address, would be reached without TLS.
    #[error("{0} is not https, and an eavesdropper on the connections to all servers learns the row")]
    InsecurePlaintext(String),
    /// The caller requires row proofs, and this table has none.
    #[error("table {0} has no row proofs, so its rows cannot be verified")]
    NoRowProofs(TableName),
    /// The caller requires authenticated answers, and whether a client refuses an answer of this table's
    /// scheme, under its parameters, may depend on the row.
    #[error("answers of table {table} ({scheme}) are not authenticated: a refusal may reveal the row")]
    NotAuthenticated {
        /// Name of the table.
        table: TableName,
        /// Id of the scheme.
        scheme: String,
    },
    /// The answers are not the rows that the publisher has signed.
    #[error("row does not match the publisher's signed root (table {table}, epoch {epoch})")]
    RowProofInvalid {
        /// Name of the table.
        table: TableName,
        /// Epoch of the answers.
        epoch: Epoch,
    },
    /// A server shows another catalog than the first one.
    #[error("servers 0 and {server} show different catalogs of epoch {epoch}")]
    CatalogsDiffer {
        /// Number of the server, counted from 0.
        server: u8,
        /// Epoch of both catalogs.
        epoch: Epoch,
    },
    /// A server no longer serves the newest epoch that another server has reached.
    #[error("server {server} does not serve epoch {epoch} of the table, the newest of another server")]
    NoCommonEpoch {
        /// Number of the server, counted from 0.
        server: u8,
        /// Epoch that it no longer serves.
        epoch: Epoch,
    },
    /// An error at one of several servers.
    #[error("server {server}: {error}")]
    Server {
        /// Number of the server, counted from 0.
        server: u8,
        /// The error at that server.
        error: Box<ClientError>,
    },
    /// An artifact that the scheme needs is not in the catalog, or has another size there.
    #[error("the catalog lacks the {artifact} of {bytes} bytes that its scheme needs")]
    MissingArtifact {
        /// Name of the artifact.
        artifact: &'static str,
        /// Size in bytes that the parameters imply.
        bytes: u64,
    },
    /// The request has more rows than one request may have.
    #[error("expected 1 to {limit} rows in one request, got {rows}")]
    TooManyRows {
        /// Number of rows in the request.
        rows: usize,
        /// Maximum number of rows of one request.
        limit: usize,
    },
    /// The rows of the table cannot be streamed, for this reason.
    #[error("the table cannot be streamed: {0}")]
    CannotStream(&'static str),
    /// This stack and its tables do not reach one common epoch.
    #[error("stack {0} and its tables are at different epochs")]
    StackInconsistent(TableName),
    /// The output that a streamed row is written to has failed.
    #[error("the row cannot be written: {0}")]
    Output(std::io::Error),
    /// Clients of this scheme have durable state, and the caller named no folder for it.
    #[error("scheme {0} needs a durable client state, and no folder is given for it")]
    StateNeeded(String),
    /// The operating system provides no randomness.
    #[error("the operating system provides no randomness, which every query needs")]
    NoEntropy,
    /// An error of the cache.
    #[cfg(feature = "cache")]
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// An error of a client's durable state.
    #[cfg(feature = "cache")]
    #[error(transparent)]
    State(#[from] StateError),
}

impl fmt::Debug for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}\n  fix: {}", self.fix())
    }
}

impl ClientError {
    /// Adds the number of the server that the error happened at, if there are several.
    /// [`ClientError::EpochChanged`] stays as it is: it concerns all servers, whichever reported
    /// it.
    pub(crate) fn of_server(self, server: u8, servers: u8) -> Self {
        match self {
            ClientError::EpochChanged { .. }
            | ClientError::ServerCount { .. }
            | ClientError::CatalogsDiffer { .. }
            | ClientError::NoCommonEpoch { .. }
            | ClientError::Server { .. } => self,
            error if servers > 1 => ClientError::Server { server, error: Box::new(error) },
            error => error,
        }
    }

    /// The error for a snapshot of `table` that differs from the requested one.
    pub(crate) fn other_snapshot(table: &TableName, epoch: Epoch, found: Hex32, expected: Hex32) -> Self {
        ClientError::OtherSnapshot { table: table.clone(), epoch, found, expected }
    }

    /// The error itself, without the server that it happened at.
    pub fn root(&self) -> &ClientError {
        match self {
            ClientError::Server { error, .. } => error.root(),
            error => error,
        }
    }

    /// Whether the failure may depend on which rows were requested, after the request was answered:
    /// a row that is unreadable, does not exist, or fails its proof. The server does not see such a
    /// failure, and may have caused it to learn who meets it; so nothing that is sent afterwards
    /// may depend on it.
    pub fn is_hidden_from_server(&self) -> bool {
        match self.root() {
            ClientError::Core(error) => {
                !matches!(error, Error::Params(_) | Error::Storage(_) | Error::Exhausted(_))
            }
            ClientError::Catalog(_) | ClientError::Oprf(_) | ClientError::RowProofInvalid { .. } => true,
            _ => false,
        }
    }
}

#[cfg(feature = "cache")]
impl From<sotto_prg::EntropyError> for ClientError {
    fn from(_: sotto_prg::EntropyError) -> Self {
        ClientError::NoEntropy
    }
}

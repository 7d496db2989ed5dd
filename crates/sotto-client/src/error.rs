//! What went wrong, by whose fault, and what to do.

mod describe;
mod source_codes;

#[cfg(feature = "cache")]
use crate::cache::CacheError;
use crate::session::WitnessError;
#[cfg(feature = "cache")]
use crate::state::StateError;
use crate::transport::TransportError;
use sotto_catalog::{CatalogError, Hex32, PublicKey, TableName, TableNameError};
use sotto_core::{Epoch, Error};
use sotto_oprf::OprfError;
use sotto_wire::{FrameError, Problem};
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
    /// A text that cannot be a table's name.
    #[error(transparent)]
    TableName(#[from] TableNameError),
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
    NoDeltaChain {
        /// The epoch of the state.
        from: Epoch,
        /// The epoch it was to come to.
        to: Epoch,
        /// Why not.
        why: &'static str,
    },
    /// A client that could not follow the table is of no use any more.
    #[error("the client of epoch {epoch} could not follow the table, and was discarded")]
    ClientDiscarded {
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
    /// A catalog by a key that has named another one in its place, as this client has seen.
    #[error("epoch {epoch} of the table is signed by {key}, which {by} replaced from epoch {until_epoch} on")]
    RetiredKey {
        /// The key.
        key: PublicKey,
        /// The key that signs now.
        by: PublicKey,
        /// The epoch from which on the old key signs nothing.
        until_epoch: Epoch,
        /// The epoch that is shown.
        epoch: Epoch,
    },
    /// A catalog by a key that the caller pins, of a table that this client knows under another one.
    #[error(
        "the table is signed by {found}, the key remembered is {known}, and no statement leads from that to the other"
    )]
    OtherSigner {
        /// The key that signed what was seen last.
        known: PublicKey,
        /// The key in the envelope.
        found: PublicKey,
    },
    /// Another catalog of an epoch that was seen before, under the same key.
    #[error(
        "there are two catalogs of epoch {epoch}, both signed by the key of the table{}",
        kept.as_ref().map(|kept| format!(": {kept}")).unwrap_or_default()
    )]
    Equivocation {
        /// The epoch.
        epoch: Epoch,
        /// Where both are kept, if there is a cache.
        kept: Option<String>,
    },
    /// Another snapshot than the one that the caller named.
    #[error(
        "the server shows epoch {epoch} of {table}, which is snapshot {found}; the one asked for is {wanted}"
    )]
    OtherSnapshot {
        /// The table, or the stack.
        table: TableName,
        /// The epoch that is shown.
        epoch: Epoch,
        /// The digest of its catalog.
        found: Hex32,
        /// The digest that was asked for.
        wanted: Hex32,
    },
    /// A catalog that is past its time.
    #[error("the table's catalog, epoch {epoch}, is {} hours past its time", ago / 3600)]
    Expired {
        /// The epoch.
        epoch: Epoch,
        /// How long, in seconds.
        ago: u64,
    },
    /// Nobody vouches that the publisher shows this catalog to everybody.
    #[error(transparent)]
    Witness(#[from] WitnessError),
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
    ServerCount {
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
    InsecurePlaintext {
        /// Its address.
        url: String,
    },
    /// A table whose rows cannot be verified one by one, where that was demanded.
    #[error("rows of table {table} cannot be verified: its publisher has put no proofs into it")]
    NoRowProofs {
        /// The table.
        table: TableName,
    },
    /// Answers that are not the rows the publisher has signed.
    #[error("what came is not the row of table {table} that its publisher has signed for epoch {epoch}")]
    RowProofInvalid {
        /// The table.
        table: TableName,
        /// The epoch.
        epoch: Epoch,
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
    StackInconsistent {
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
            | ClientError::ServerCount { .. }
            | ClientError::CatalogsDiffer { .. }
            | ClientError::NoCommonEpoch { .. }
            | ClientError::Server { .. } => self,
            error if servers > 1 => ClientError::Server { server, error: Box::new(error) },
            error => error,
        }
    }

    /// Another snapshot of `table` than the one that was asked for.
    pub(crate) fn other_snapshot(table: &TableName, epoch: Epoch, found: Hex32, wanted: Hex32) -> Self {
        ClientError::OtherSnapshot { table: table.clone(), epoch, found, wanted }
    }

    /// What went wrong, without the server it happened at.
    pub fn root(&self) -> &ClientError {
        match self {
            ClientError::Server { error, .. } => error.root(),
            error => error,
        }
    }

    /// Whether the failure may depend on what was asked, of a request that was answered: a row that cannot be read, that is not
    /// the publisher's, that the table does not have. The server does not see it, and may have caused it to learn who meets it;
    /// so nothing that is sent afterwards may depend on it.
    pub fn is_hidden_from_server(&self) -> bool {
        match self.root() {
            ClientError::Core(error) => {
                !matches!(error, Error::Params(_) | Error::Storage(_) | Error::Exhausted(_))
            }
            ClientError::Catalog(_) | ClientError::Oprf(_) | ClientError::RowProofInvalid { .. } => true,
            _ => false,
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

#[cfg(feature = "cache")]
impl From<sotto_prg::EntropyError> for ClientError {
    fn from(_: sotto_prg::EntropyError) -> Self {
        ClientError::NoEntropy
    }
}

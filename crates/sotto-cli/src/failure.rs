//! The failure of a verb: its exit code, on which scripts branch, and its text for a person or as
//! JSON; and the exit code of each library's errors.
//!
//! Messages are the libraries'; if a message already contains the fix, none is added.

#[cfg(test)]
mod tests;

use serde::Serialize;
use sotto_bench::{BenchError, DefinitionError};
use sotto_catalog::CatalogError;
use sotto_client::ClientError;
use sotto_client::cache::CacheError;
use sotto_client::error::{Diagnose, ErrorKind};
use sotto_client::session::WitnessError;
use sotto_client::state::StateError;
use sotto_client::transport::TransportError;
use sotto_core::{Error, Misuse};
use sotto_db::ingest::IngestProblem;
use sotto_db::{DbError, PartProblem};
use sotto_plan::PlanError;
use sotto_prg::EntropyError;
use sotto_server::{SourceError, StartError};
use sotto_tlog::LogError;
use sotto_wire::{Problem, ProblemCode};
use std::io;
use std::path::Path;

/// Result of this crate's functions.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why the command ended. The numbers are part of the interface and do not change; the names are
/// the words in `--json` errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub(crate) enum Exit {
    Internal = 1,
    Usage = 2,
    Input = 3,
    Params = 4,
    Peer = 5,
    Refused = 6,
    Missing = 7,
    Storage = 8,
    Findings = 9,
}

/// Table that `sotto exit-codes` and `sotto help exit-codes` print.
pub(crate) const EXIT_CODES: &str = "\
  0  done
  1  internal: a bug in sotto; please report it
  2  usage: the command line is not valid
  3  input: an input file holds invalid data (the message names file, line and column)
  4  params: no secure and reliable parameters fit this table, or this build lacks its scheme
  5  peer: the server is unreachable, or its response is invalid
  6  refused: the server or another process refuses for now: busy, stale epoch, address in use
  7  missing: no such table, row, key, file or epoch
  8  storage: the disk is full, or a file cannot be read or written
  9  findings: `sotto doctor` or `sotto bench soak` found a problem

An error goes to stderr; with --json it is one JSON object {\"error\": {\"code\", \"kind\", \"message\", \
\"fix\"}}.";

/// Why a verb did not succeed, and what to do about it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    pub(crate) fix: Option<String>,
    /// Whether the reader of the output has gone (`sotto ... | head`), which is no error.
    pub(crate) unread: bool,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Failure { exit, message: message.into(), fix: None, unread: false }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Failure::new(Exit::Usage, message)
    }

    pub(crate) fn input(message: impl Into<String>) -> Self {
        Failure::new(Exit::Input, message)
    }

    pub(crate) fn peer(message: impl Into<String>) -> Self {
        Failure::new(Exit::Peer, message)
    }

    pub(crate) fn missing(message: impl Into<String>) -> Self {
        Failure::new(Exit::Missing, message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Failure::new(Exit::Internal, message)
    }

    /// The failure for a reader of the results that has gone.
    pub(crate) fn unread() -> Self {
        Failure { unread: true, ..Failure::internal("stdout is closed") }
    }

    /// Adds what to do about the failure.
    pub(crate) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// The failure for a file that could not be read or written. A missing file is told from an
    /// unreadable one.
    pub(crate) fn file(doing: &str, path: &Path, error: &io::Error) -> Self {
        let exit = if error.kind() == io::ErrorKind::NotFound { Exit::Missing } else { Exit::Storage };
        Failure::new(exit, format!("{doing} {}: {error}", path.display()))
    }

    /// The text for stderr, without a trailing newline.
    pub(crate) fn render(&self, json: bool) -> String {
        let Failure { exit, message, fix, .. } = self;
        if json {
            let error =
                serde_json::json!({ "code": *exit as u8, "kind": exit, "message": message, "fix": fix });
            return serde_json::json!({ "error": error }).to_string();
        }
        let fix = fix.as_ref().map(|fix| format!("\n  fix: {fix}")).unwrap_or_default();
        format!("error: {message}{fix}")
    }
}

/// Names the file that an error of the system is about.
pub(crate) trait FileContext<T> {
    /// Turns an error into the failure of doing something with a file: [`Failure::file`].
    fn doing(self, doing: &str, path: &Path) -> Result<T>;
}

impl<T> FileContext<T> for io::Result<T> {
    fn doing(self, doing: &str, path: &Path) -> Result<T> {
        self.map_err(|error| Failure::file(doing, path, &error))
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        let (exit, fix) = match error {
            PlanError::Workload { .. } => (Exit::Usage, "see `sotto plan --help`"),
            _ => (Exit::Input, "make the plan again with `sotto plan ... --out FILE`"),
        };
        Failure::new(exit, error.to_string()).fix(fix)
    }
}

impl From<EntropyError> for Failure {
    fn from(error: EntropyError) -> Self {
        Failure::internal(error.to_string()).fix("repair the system's random device")
    }
}

impl From<TransportError> for Failure {
    fn from(error: TransportError) -> Self {
        ClientError::from(error).into()
    }
}

impl From<CatalogError> for Failure {
    fn from(error: CatalogError) -> Self {
        ClientError::from(error).into()
    }
}

impl From<CacheError> for Failure {
    fn from(error: CacheError) -> Self {
        ClientError::from(error).into()
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        if let ClientError::Core(Error::Misuse(Misuse::IndexPastEnd { len, .. })) = error {
            // The index is not repeated: what is looked up is private, and messages end up in logs.
            return Failure::missing(format!("no such row: the table has {len}"))
                .fix("give a row number below that; rows are counted from 0");
        }
        let exit = client(&error);
        let fix = match &error {
            ClientError::StateNeeded { .. } => "give --state DIR, or set HOME or XDG_DATA_HOME",
            ClientError::State(StateError::NoRollbackCounter) => "give --rollback-dir DIR",
            ClientError::State(StateError::Busy { .. }) => {
                "end the other process, wait longer with --max-wait, or give a --state DIR of its own, which \
                 needs its own preparation"
            }
            error if matches!(error.root(), ClientError::Refused(problem) if problem.code.is_retryable()) => {
                "try again later, after the server's Retry-After if any, or wait longer with --max-wait"
            }
            error => error.fix(),
        };
        Failure::new(exit, error.to_string()).fix(fix)
    }
}

/// The exit code of a client's error: that of its kind, except where a script has more to tell apart.
fn client(error: &ClientError) -> Exit {
    match error.root() {
        ClientError::Core(error) | ClientError::Catalog(CatalogError::Params(error)) => contract(error),
        ClientError::Catalog(CatalogError::NoSuchRow { .. }) => Exit::Missing,
        ClientError::Refused(problem) => refusal(problem),
        ClientError::EpochChanged { .. }
        | ClientError::NoCommonEpoch { .. }
        | ClientError::State(StateError::Busy { .. }) => Exit::Refused,
        ClientError::UnknownScheme { .. } => Exit::Params,
        ClientError::Witness(WitnessError::Kept { .. }) => Exit::Storage,
        ClientError::State(StateError::NoRollbackCounter) => Exit::Usage,
        ClientError::State(StateError::WrongState { .. }) => Exit::Input,
        error => match error.diagnosis().kind {
            ErrorKind::Misuse => Exit::Usage,
            kind => kind.into(),
        },
    }
}

impl From<ErrorKind> for Exit {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Misuse | ErrorKind::Machine => Exit::Internal,
            ErrorKind::Row => Exit::Missing,
            ErrorKind::Params => Exit::Params,
            ErrorKind::Peer | ErrorKind::Network | ErrorKind::Timeout | ErrorKind::Unreadable => Exit::Peer,
            ErrorKind::Storage => Exit::Storage,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::new(contract(&error), error.to_string())
    }
}

/// The exit code of a scheme's error.
fn contract(error: &Error) -> Exit {
    match error {
        Error::Exhausted(_) | Error::BatchCodeFailure => Exit::Refused,
        error => error.diagnosis().kind.into(),
    }
}

/// The exit code of a scheme's error about the bytes of a file, which are input and no peer's message.
fn contract_of_file(error: &Error) -> Exit {
    match contract(error) {
        Exit::Peer => Exit::Input,
        exit => exit,
    }
}

fn refusal(problem: &Problem) -> Exit {
    match problem.code {
        ProblemCode::NoSuchTable
        | ProblemCode::NoSuchArtifact
        | ProblemCode::NotLogged
        | ProblemCode::NoSuchRoute
        | ProblemCode::CannotStream
        | ProblemCode::NotSymmetric => Exit::Missing,
        ProblemCode::Internal
        | ProblemCode::Malformed
        | ProblemCode::BadQuery
        | ProblemCode::BadKeys
        | ProblemCode::WrongMethod => Exit::Peer,
        _ => Exit::Refused,
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        let exit = match &error {
            StartError::Config { .. } | StartError::Tls { .. } | StartError::Page { .. } => Exit::Input,
            StartError::Settings(_) | StartError::SameName { .. } => Exit::Usage,
            StartError::InUse { .. } | StartError::Listen { .. } => Exit::Refused,
            StartError::NoEpoch { .. } => Exit::Missing,
            StartError::State { .. } => Exit::Storage,
            StartError::Table { error, .. } => source(error),
            _ => Exit::Internal,
        };
        match &error {
            StartError::InUse { address, key } => {
                Failure::new(exit, format!("address {address} is already in use")).fix(elsewhere(key))
            }
            StartError::Listen { address, key, source } => {
                Failure::new(exit, format!("cannot listen on {address}: {source}")).fix(elsewhere(key))
            }
            error => Failure::new(exit, error.to_string()),
        }
    }
}

/// How to give a server another address: the key in the configuration file, and the option.
fn elsewhere(key: &str) -> String {
    let option = key.replace('_', "-");
    format!(
        "stop the process that uses it, or give --{option} ADDRESS (`{key}` in a configuration file). Each \
         server on a machine needs an address for clients and one for health and metrics: \
         --listen 127.0.0.1:8082 --admin-listen 127.0.0.1:8083"
    )
}

fn source(error: &SourceError) -> Exit {
    match error {
        SourceError::Scheme(error) => contract_of_file(error),
        SourceError::UnknownScheme(_) => Exit::Params,
        SourceError::Role { .. } => Exit::Usage,
        SourceError::OprfKey(_) => Exit::Missing,
        SourceError::Unreadable(_) => Exit::Storage,
        SourceError::Disk(error) => disk(error),
        _ => Exit::Input,
    }
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Self {
        if let BenchError::Definition(why) = error {
            return why.into();
        }
        let exit = match &error {
            BenchError::UnknownScheme { .. } | BenchError::Drawing { .. } => Exit::Missing,
            BenchError::Params { .. } => Exit::Params,
            BenchError::Scheme { why, .. } => contract(why),
            BenchError::OtherRows { .. } => Exit::Input,
            BenchError::Storage(_) => Exit::Storage,
            _ => Exit::Internal,
        };
        Failure::new(exit, error.to_string())
    }
}

impl From<DefinitionError> for Failure {
    fn from(error: DefinitionError) -> Self {
        let exit = match &error {
            DefinitionError::Unreadable { why, .. } if why.kind() == io::ErrorKind::NotFound => Exit::Missing,
            DefinitionError::Unreadable { .. } => Exit::Storage,
            _ => Exit::Input,
        };
        Failure::new(exit, error.to_string())
    }
}

impl From<DbError> for Failure {
    fn from(error: DbError) -> Self {
        let failure = Failure::new(disk(&error), error.to_string());
        match error {
            DbError::NotATable { .. } => failure.fix(
                "give a table, such as one in the folder `tables` of a stack; tables of Apple's lookups work \
                 with serve, inspect, doctor, update and backup",
            ),
            DbError::Scheme(Error::Params(_)) => failure.fix("split the table, or use narrower rows"),
            _ => failure,
        }
    }
}

/// The exit code of a table, an image or source data on this machine.
pub(crate) fn disk(error: &DbError) -> Exit {
    match error {
        DbError::Io { source, .. } => match source.kind() {
            io::ErrorKind::NotFound => Exit::Missing,
            _ => Exit::Storage,
        },
        DbError::DiskFull { .. } | DbError::KeyExposed { .. } => Exit::Storage,
        DbError::Part { why: PartProblem::Missing { .. }, .. } => Exit::Missing,
        DbError::Image { .. }
        | DbError::Part { .. }
        | DbError::OtherRows { .. }
        | DbError::Rows { .. }
        | DbError::Source { .. }
        | DbError::Catalog(_)
        | DbError::PartOfBlocks { .. }
        | DbError::NoChanges { .. } => Exit::Input,
        DbError::Ingest(error) => source_data(&error.problem),
        DbError::Scheme(error) => contract_of_file(error),
        DbError::Log { source, .. } => log(source),
        DbError::Locked { .. } => Exit::Refused,
        DbError::Empty { .. } | DbError::NoEpoch { .. } => Exit::Missing,
        DbError::OtherTable { .. }
        | DbError::OtherKey { .. }
        | DbError::CannotRotate { .. }
        | DbError::NotATable { .. }
        | DbError::WasMasked { .. }
        | DbError::NoFront { .. }
        | DbError::NoStack { .. }
        | DbError::OtherStack { .. }
        | DbError::NoBatch { .. } => Exit::Usage,
        DbError::NoOprfKey { .. } => Exit::Missing,
        DbError::OprfKey { .. } => Exit::Input,
        DbError::CannotUpdate { .. }
        | DbError::CannotCut { .. }
        | DbError::TooManyParts { .. }
        | DbError::NoRoomInRequest { .. }
        | DbError::TooManyTables { .. }
        | DbError::PastCapacity { .. } => Exit::Params,
        _ => Exit::Internal,
    }
}

fn source_data(problem: &IngestProblem) -> Exit {
    match problem {
        IngestProblem::Read(error) if error.kind() == io::ErrorKind::NotFound => Exit::Missing,
        // Any other error may be the disk or a damaged archive; the archive is far more likely.
        IngestProblem::NoColumn { .. }
        | IngestProblem::NoPart { .. }
        | IngestProblem::OneColumn { .. }
        | IngestProblem::NameTwice { .. }
        | IngestProblem::Header { .. }
        | IngestProblem::Options(_) => Exit::Usage,
        _ => Exit::Input,
    }
}

impl From<LogError> for Failure {
    fn from(error: LogError) -> Self {
        Failure::new(log(&error), error.to_string())
    }
}

/// The exit code of a log of catalogs on this machine.
fn log(error: &LogError) -> Exit {
    match error {
        LogError::Storage { source, .. } if source.kind() == io::ErrorKind::NotFound => Exit::Missing,
        LogError::Storage { .. } => Exit::Storage,
        LogError::Missing { .. } => Exit::Missing,
        LogError::KeyText(_) => Exit::Usage,
        LogError::Fork { .. } | LogError::Older { .. } | LogError::Conflict { .. } => Exit::Peer,
        _ => Exit::Input,
    }
}

//! The exit code of each library's errors. Messages are the libraries'; if a message already
//! contains the fix, none is added.

use crate::exit::Exit;
use crate::failure::Failure;
use sotto_apple::image::ImageError;
use sotto_apple::keyword::cuckoo::TableError;
use sotto_bench::{BenchError, DefinitionError};
use sotto_catalog::CatalogError;
use sotto_client::ClientError;
use sotto_client::session::WitnessError;
use sotto_client::state::StateError;
use sotto_client::transport::TransportError;
use sotto_core::{Error, Misuse, ParamsError};
use sotto_db::ingest::IngestProblem;
use sotto_db::{DbError, PartProblem};
use sotto_plan::PlanError;
use sotto_server::{SourceError, StartError};
use sotto_tlog::LogError;
use sotto_wire::Code;
use std::io;

/// The failure of a plan that cannot be made or applied.
pub(crate) fn plan(error: &PlanError) -> Failure {
    let (exit, fix) = match error {
        PlanError::Workload { .. } => (Exit::Usage, "see `sotto plan --help`"),
        _ => (Exit::Input, "make the plan again with `sotto plan ... --out FILE`"),
    };
    Failure::new(exit, error.to_string()).fix(fix)
}

/// The failure of a private lookup, or of the preparation for one.
pub(crate) fn client(error: ClientError) -> Failure {
    if let ClientError::Core(Error::Misuse(Misuse::IndexPastEnd { len, .. })) = error {
        // The index is not repeated: what is looked up is private, and messages end up in logs.
        return Failure::missing(format!("no such row: the table has {len}"))
            .fix("give a row number below that; rows are counted from 0");
    }
    let exit = match error.root() {
        ClientError::Core(error) | ClientError::Catalog(CatalogError::Params(error)) => contract(error),
        ClientError::Catalog(CatalogError::NoSuchRow { .. }) => Exit::Missing,
        ClientError::Catalog(CatalogError::KeyText { .. }) => Exit::Usage,
        ClientError::Refused(problem) => refusal(problem),
        ClientError::Transport(TransportError::Address { .. })
        | ClientError::Witness(
            WitnessError::Count { .. } | WitnessError::NoneNeeded { .. } | WitnessError::NoClock,
        )
        | ClientError::TableName(_)
        | ClientError::TooManyRows { .. }
        | ClientError::ServerCount { .. }
        | ClientError::SameEndpoint { .. }
        | ClientError::InsecurePlaintext { .. }
        | ClientError::CannotStream { .. } => Exit::Usage,
        ClientError::Output(_) | ClientError::Witness(WitnessError::Kept { .. }) => Exit::Storage,
        ClientError::EpochChanged { .. } | ClientError::NoCommonEpoch { .. } => Exit::Refused,
        ClientError::UnknownScheme { .. } => Exit::Params,
        ClientError::NoEntropy => Exit::Internal,
        ClientError::Cache(_) => Exit::Storage,
        ClientError::StateNeeded { .. } | ClientError::State(StateError::NoAnchor) => Exit::Usage,
        ClientError::State(StateError::Busy { .. }) => Exit::Refused,
        ClientError::State(StateError::WrongState { .. }) => Exit::Input,
        ClientError::State(_) => Exit::Storage,
        _ => Exit::Peer,
    };
    let fix = match &error {
        ClientError::StateNeeded { .. } => "give --state DIR, or set HOME or XDG_DATA_HOME",
        ClientError::State(StateError::NoAnchor) => "give --rollback-dir DIR",
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

/// The exit code of a scheme's error.
pub(crate) fn contract(error: &Error) -> Exit {
    match error {
        Error::Params(_) => Exit::Params,
        Error::Misuse(Misuse::IndexPastEnd { .. }) => Exit::Missing,
        Error::Peer(_) | Error::Unreadable => Exit::Peer,
        Error::Exhausted(_) | Error::BatchCodeFailure => Exit::Refused,
        Error::Storage(_) => Exit::Storage,
        _ => Exit::Internal,
    }
}

fn refusal(problem: &sotto_wire::Problem) -> Exit {
    match problem.code {
        Code::NoSuchTable
        | Code::NoSuchArtifact
        | Code::NotLogged
        | Code::NoSuchRoute
        | Code::CannotStream
        | Code::NotSymmetric => Exit::Missing,
        Code::Internal | Code::Malformed | Code::BadQuery | Code::BadKeys | Code::WrongMethod => Exit::Peer,
        _ => Exit::Refused,
    }
}

/// The failure of a server that did not start.
pub(crate) fn start(error: StartError) -> Failure {
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
            let message = format!("address {address} is already in use");
            Failure::new(exit, message).fix(elsewhere(key))
        }
        StartError::Listen { address, key, source } => {
            Failure::new(exit, format!("cannot listen on {address}: {source}")).fix(elsewhere(key))
        }
        error => Failure::new(exit, error.to_string()),
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
        // The bytes of a file are input here, not a peer's message.
        SourceError::Scheme(error) => match contract(error) {
            Exit::Peer => Exit::Input,
            exit => exit,
        },
        SourceError::UnknownScheme(_) => Exit::Params,
        SourceError::Role { .. } => Exit::Usage,
        SourceError::OprfKey(_) => Exit::Missing,
        SourceError::Unreadable(_) => Exit::Storage,
        SourceError::Disk(error) => disk(error),
        _ => Exit::Input,
    }
}

/// The failure of a benchmark without figures.
pub(crate) fn bench(error: BenchError) -> Failure {
    if let BenchError::Definition(why) = error {
        return definition(why);
    }
    let exit = match &error {
        BenchError::UnknownScheme { .. } => Exit::Missing,
        BenchError::Params { .. } => Exit::Params,
        BenchError::Scheme { why, .. } => contract(why),
        BenchError::OtherRows { .. } => Exit::Input,
        BenchError::Storage(_) => Exit::Storage,
        _ => Exit::Internal,
    };
    Failure::new(exit, error.to_string())
}

/// The failure of a benchmark definition that cannot be used.
pub(crate) fn definition(error: DefinitionError) -> Failure {
    let exit = match &error {
        DefinitionError::Unreadable { why, .. } if why.kind() == io::ErrorKind::NotFound => Exit::Missing,
        DefinitionError::Unreadable { .. } => Exit::Storage,
        _ => Exit::Input,
    };
    Failure::new(exit, error.to_string())
}

/// The failure of a table, an image or source data on this machine.
pub(crate) fn db(error: DbError) -> Failure {
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

/// The failure of a table of Apple's lookups on this machine.
pub(crate) fn apple(error: ImageError) -> Failure {
    let exit = match &error {
        ImageError::Db(error) => disk(error),
        ImageError::Params(_) | ImageError::TooMany { .. } => Exit::Params,
        ImageError::Asked(_) => Exit::Usage,
        _ => Exit::Input,
    };
    let fix = match &error {
        ImageError::Params(ParamsError::Insecure { .. }) => {
            Some("give another --set, or --allow-insecure-params")
        }
        ImageError::Table(TableError::NoPlace { .. }) => {
            Some("omit --buckets, or give more buckets or larger ones (--bucket-bytes)")
        }
        ImageError::TooLong { .. } | ImageError::LongLine { .. } => Some("give a larger --bucket-bytes"),
        _ => None,
    };
    let failure = Failure::new(exit, error.to_string());
    fix.into_iter().fold(failure, Failure::fix)
}

fn disk(error: &DbError) -> Exit {
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
        DbError::Scheme(error) => match contract(error) {
            // The bytes of a file are input here, not a peer's message.
            Exit::Peer => Exit::Input,
            exit => exit,
        },
        DbError::Log { source, .. } => log_exit(source),
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

/// The failure of a log of catalogs on this machine.
pub(crate) fn log(error: &LogError) -> Failure {
    Failure::new(log_exit(error), error.to_string())
}

fn log_exit(error: &LogError) -> Exit {
    match error {
        LogError::Storage { source, .. } if source.kind() == io::ErrorKind::NotFound => Exit::Missing,
        LogError::Storage { .. } => Exit::Storage,
        LogError::Missing { .. } => Exit::Missing,
        LogError::KeyText(_) => Exit::Usage,
        LogError::Fork { .. } | LogError::Older { .. } | LogError::Conflict { .. } => Exit::Peer,
        _ => Exit::Input,
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

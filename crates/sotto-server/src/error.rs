//! Why a server did not start, and what to do.

use sotto_catalog::CatalogError;
use sotto_core::{Diagnose, Diagnosis, ErrorKind, Exit};
use sotto_db::DbError;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

const LISTEN: &str = "stop the process that uses it, or give --listen ADDRESS (`listen` in a configuration file). Each \
     server on a machine needs an address for clients and one for health and metrics: --listen 127.0.0.1:8082 \
     --admin-listen 127.0.0.1:8083";

const ADMIN: &str = "stop the process that uses it, or give --admin-listen ADDRESS (`admin_listen` in a configuration \
     file). Each server on a machine needs an address for clients and one for health and metrics: --listen \
     127.0.0.1:8082 --admin-listen 127.0.0.1:8083";

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The configuration file is missing or wrong.
    #[error("{file}: {why}", file = file.display())]
    Config {
        /// Path of the file.
        file: PathBuf,
        /// What is wrong, with the line.
        why: String,
    },
    /// The configuration contradicts itself.
    #[error("the configuration is wrong: {0}")]
    Settings(String),
    /// The address is in use.
    #[error("address {address} is already in use")]
    InUse {
        /// Address that is in use.
        address: SocketAddr,
        /// Configuration key of the address.
        key: &'static str,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Address of the listener.
        address: SocketAddr,
        /// Configuration key of the address.
        key: &'static str,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A table cannot be opened.
    #[error("{}{error}", match error {
        // These errors name their file.
        SourceError::Disk(_) | SourceError::Damaged(_) => String::new(),
        _ => format!("{source_name}: "),
    })]
    Table {
        /// Directory or file of the table.
        source_name: String,
        /// Why the table cannot be opened.
        error: SourceError,
    },
    /// The table source in this folder or file holds no epoch.
    #[error("{0}: no table here yet: encode one first, with `sotto encode`")]
    NoEpoch(String),
    /// Two sources contain a table of the same name.
    #[error("two tables are named {name}: {first} and {second}; serve one of them elsewhere")]
    SameName {
        /// Name of both tables.
        name: String,
        /// First source.
        first: String,
        /// Second source.
        second: String,
    },
    /// The certificate or its key cannot be used.
    #[error("TLS, {file}: {why}", file = file.display())]
    Tls {
        /// Path of the file.
        file: PathBuf,
        /// Description of the fault.
        why: String,
    },
    /// The web page cannot be served.
    #[error("static site, {file}: {why}", file = file.display())]
    Page {
        /// Path of the file or folder.
        file: PathBuf,
        /// Description of the fault.
        why: String,
    },
    /// State that outlives restarts cannot be used.
    #[error("{path}: {why}; {fix}", path = path.display())]
    State {
        /// Path of the file.
        path: PathBuf,
        /// Description of the fault.
        why: String,
        /// What to do.
        fix: &'static str,
    },
    /// The operating system provides no randomness.
    #[error("the operating system provides no randomness, which session ids need")]
    Entropy,
    /// Threads cannot be started.
    #[error("cannot start threads: {0}")]
    Threads(io::Error),
}

/// Why an epoch was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The epoch cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// The folder or file of the epoch cannot be read.
    #[error(transparent)]
    Disk(Box<DbError>),
    /// The file is not a valid image.
    #[error("{0}")]
    Damaged(String),
    /// The catalog is not valid, or its parameters are refused.
    #[error("the catalog is refused: {0}")]
    Catalog(#[from] CatalogError),
    /// The scheme refuses the epoch.
    #[error("the scheme refuses the image: {0}")]
    Scheme(#[from] sotto_core::Error),
    /// The scheme is not part of this build.
    #[error("scheme {0} is not in this build; build with it, or encode with another scheme")]
    UnknownScheme(String),
    /// The scheme has no server of this role.
    #[error(
        "scheme {scheme} has {servers} server(s), counted from 0, and `role` is {role}; set `role` to one of them"
    )]
    Role {
        /// Id of the scheme.
        scheme: String,
        /// Number of servers that the scheme needs.
        servers: u32,
        /// Role of this server.
        role: u8,
    },
    /// The table is symmetric, and the key that evaluates for its clients is missing, or is another
    /// one.
    #[error("the table is symmetric and needs its OPRF key: {0}")]
    OprfKey(String),
    /// The parts of the epoch contradict each other.
    #[error("the image is inconsistent: {0}; encode it again")]
    Inconsistent(String),
}

impl From<DbError> for SourceError {
    fn from(error: DbError) -> Self {
        match error {
            DbError::Image { .. } => SourceError::Damaged(error.to_string()),
            error => SourceError::Disk(Box::new(error)),
        }
    }
}

impl Diagnose for StartError {
    fn diagnosis(&self) -> Diagnosis<'_> {
        let (kind, exit) = match self {
            StartError::Config { .. } | StartError::Tls { .. } | StartError::Page { .. } => {
                (ErrorKind::Misuse, Exit::Input)
            }
            StartError::Settings(_) | StartError::SameName { .. } => (ErrorKind::Misuse, Exit::Usage),
            StartError::NoEpoch { .. } => (ErrorKind::Misuse, Exit::Missing),
            StartError::InUse { .. } | StartError::Listen { .. } => (ErrorKind::Network, Exit::Refused),
            StartError::Table { error, .. } => (ErrorKind::Storage, error.diagnosis().exit),
            StartError::State { .. } => (ErrorKind::Storage, Exit::Storage),
            StartError::Threads(_) => (ErrorKind::Storage, Exit::Internal),
            StartError::Entropy => (ErrorKind::Machine, Exit::Internal),
        };
        let fix = match self {
            StartError::InUse { key, .. } | StartError::Listen { key, .. } if *key == "listen" => LISTEN,
            StartError::InUse { .. } | StartError::Listen { .. } => ADMIN,
            _ => "",
        };
        kind.diagnosis("serve", fix).with_exit(exit)
    }
}

impl Diagnose for SourceError {
    fn diagnosis(&self) -> Diagnosis<'_> {
        let (kind, exit) = match self {
            SourceError::Scheme(error) => return error.diagnosis().of_file(),
            SourceError::Disk(error) => return error.diagnosis(),
            SourceError::UnknownScheme(_) => (ErrorKind::Machine, Exit::Params),
            SourceError::Role { .. } => (ErrorKind::Misuse, Exit::Usage),
            SourceError::OprfKey(_) => (ErrorKind::Storage, Exit::Missing),
            SourceError::Unreadable(_) => (ErrorKind::Storage, Exit::Storage),
            SourceError::Catalog(_) | SourceError::Damaged(_) | SourceError::Inconsistent(_) => {
                (ErrorKind::Storage, Exit::Input)
            }
        };
        kind.diagnosis("serve", "").with_exit(exit)
    }
}

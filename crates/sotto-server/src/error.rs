//! Why a server did not start, and what to do.

use crate::SourceError;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

const FIRST: &str = "another server runs there. Stop it, or give this one another address, with --listen ADDRESS or `listen` in \
                     its file";

const SECOND: &str = "another server has its health and metrics there. Stop it, or give this one another address for its own, \
                      with --admin-listen 127.0.0.1:0 (any free port) or `admin_listen` in its file";

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The configuration file is missing or wrong.
    #[error("{file}: {why}", file = file.display())]
    Config {
        /// Which file.
        file: PathBuf,
        /// What is wrong, with the line.
        why: String,
    },
    /// The configuration contradicts itself.
    #[error("the configuration is wrong: {0}")]
    Settings(String),
    /// The address is taken.
    #[error("{address} is in use already: {}", if *key == "admin_listen" { SECOND } else { FIRST })]
    InUse {
        /// The address.
        address: SocketAddr,
        /// The configuration key that names it.
        key: &'static str,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address} (`{key}`): {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The configuration key that names it.
        key: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// A table cannot be opened.
    #[error("{}{error}", match error {
        // These name their file.
        SourceError::Disk(_) | SourceError::Damaged(_) => String::new(),
        _ => format!("{source_name}: "),
    })]
    Table {
        /// The directory or file.
        source_name: String,
        /// Why not.
        error: SourceError,
    },
    /// A table source holds no epoch.
    #[error("{source_name}: no table here yet: encode one first, with `sotto encode`")]
    NoEpoch {
        /// The directory or file.
        source_name: String,
    },
    /// Two sources hold a table of one name.
    #[error("two tables are named {name}: {first} and {second}; serve one of them elsewhere")]
    SameName {
        /// The name.
        name: String,
        /// One source.
        first: String,
        /// The other.
        second: String,
    },
    /// Certificate or key cannot be used.
    #[error("TLS, {file}: {why}", file = file.display())]
    Tls {
        /// Which file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A page cannot be served.
    #[error("the page, {file}: {why}", file = file.display())]
    Page {
        /// Which file or folder.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// What is kept over restarts cannot be used.
    #[error("{path}: {why}; {fix}", path = path.display())]
    State {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
        /// What to do.
        fix: &'static str,
    },
    /// The operating system gives no randomness.
    #[error("the operating system gives no randomness, and session ids must not be guessed")]
    Entropy,
    /// Threads cannot be started.
    #[error("cannot start threads: {0}")]
    Threads(io::Error),
}

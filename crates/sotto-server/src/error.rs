//! Why a server did not start, and what to do.

use crate::SourceError;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

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
    #[error(
        "{address} is in use already: another server runs there. Stop it, or set `{key}` to another address"
    )]
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
    #[error("{source_name}: {error}")]
    Table {
        /// The directory or file.
        source_name: String,
        /// Why not.
        error: SourceError,
    },
    /// A table source holds no epoch.
    #[error("{source_name}: there is no epoch in it; make one with `sotto encode`")]
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

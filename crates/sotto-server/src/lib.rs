//! The server: tables by epoch, batching across clients, limits, metrics; over HTTP/1.1 and 2.
//!
//! ```
//! use sotto_db::progress::silent;
//! use sotto_db::table::RawFile;
//! use sotto_db::{EncodeOptions, TableDir, encode_table};
//! use sotto_server::{Server, ServerConfig, TableConfig};
//! use std::fs::{self, File};
//!
//! # let temporary = tempfile::tempdir()?;
//! # let folder = temporary.path();
//! // A table of 100 rows of 8 bytes.
//! let file = folder.join("rows.raw");
//! fs::write(&file, [7; 800])?;
//! let rows = RawFile::new(File::open(&file)?, &file, 100, 8)?;
//! let dir = TableDir::create(&folder.join("sevens"))?;
//! let key = dir.signing_key(None, &mut sotto_prg::system_rng()?)?;
//! let options = EncodeOptions::new("sevens".parse()?, &key);
//! let scheme = sotto_registry::find("simplepir/1").ok_or("left out of this build")?;
//! encode_table(scheme, &rows, &dir.lock()?, &options, &silent)?;
//!
//! // It is served on a free port until it is told to stop.
//! let tables = vec![TableConfig::dir(dir.path())];
//! let server = Server::start(&ServerConfig { tables, ..ServerConfig::on_free_ports() })?;
//! assert_eq!(server.tables()[0].0, "sevens");
//! println!("http://{}", server.public);
//! server.shutdown();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`config`] | the configuration: one short TOML file, unknown keys refused |
//! | [`server`] | start, run, shut down; usable in a test |
//! | [`table_epoch`] | one open epoch of a table |
//! | [`epoch_source`] | where epochs come from: table directories and image files, or a test |
//! | `stacks` | stacks: which tables belong together, and their public files |
//! | `logs` | the logs of publishers' catalogs |
//! | `static_site` | the files of a web page, read once |
//! | `part_answering` | a table in parts, all of which are in this process |
//! | `live_epochs` | the live epochs of one table, and past ones: catalogs and rows deltas |
//! | `epochs` | two live epochs per table, swapped atomically; progress while tables are opened |
//! | [`served_table`] | how epochs of a table go live: found, opened, verified |
//! | `scheduler` | query requests of many clients, answered in one pass over the data |
//! | `hint_queue` | hint requests, answered by a thread of their own |
//! | `low_priority` | threads that yield to the passes, for clients' keys |
//! | `client` | client identities: addresses, networks, and their keyed hashes |
//! | `pass_times` | how many queries a pass takes, from the times of those before |
//! | `limits` | what clients may use: rates over time, slots, memory, time on the tables |
//! | [`database`] | embedded databases in the state directory |
//! | [`extension`] | other protocols next to the server's own |
//! | `backup` | a copy of the state directory, made while the server runs |
//! | `sessions` | clients' keys: in memory, and on disk across restarts |
//! | `session_store` | the database of keys and of counts per client |
//! | [`coordinator`] | admission for a coordinator, which sends requests to the parts of a table itself |
//! | `service` | the state that all routes share |
//! | `routes` | the public routes |
//! | `admin` | health, metrics, reload, draining and backups, on a port of their own |
//! | `body` | request bodies, bounded before they are read |
//! | `host` | what every route uses of the server |
//! | `http_error` | refused requests as responses |
//! | `metrics` | all metrics of a server, and their labels: table, route and outcome; never row, key or client |
//! | `listen` | sockets, TLS, connections, graceful shutdown |
//! | [`error`] | why a server did not start, and what to do |
//!
//! A query request is read (`body`), matched to an epoch (`epochs`), queued and answered
//! (`scheduler`), and framed (`routes`). Nothing on this path depends on the requested rows, and
//! nothing of the request is logged.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod admin;
mod backup;
mod body;
mod client;
pub mod config;
pub mod database;
pub mod epoch_source;
mod epochs;
pub mod error;
pub mod extension;
mod hint_queue;
mod host;
mod http_error;
mod limits;
mod listen;
mod live_epochs;
mod logs;
mod low_priority;
mod metrics;
mod part_answering;
mod pass_times;
mod routes;
mod scheduler;
pub mod served_table;
pub mod server;
mod service;
mod session_store;
mod sessions;
mod stacks;
mod static_site;
pub mod table_epoch;

pub use config::{
    BatchConfig, ConfigText, Residency, ScanConfig, ServerConfig, SessionConfig, TableConfig, TlsConfig,
};
pub use epoch_source::EpochSource;
pub use epochs::OpeningProgress;
pub use error::{SourceError, StartError};
pub use listen::SelfSignedCertificate;
pub use live_epochs::PastEpoch;
#[doc(hidden)]
pub use metrics::metrics_sample;
pub use served_table::TableStatus;
pub use server::{RunningServer, Server, ShutdownReport};
pub use sessions::coordinator;
pub use table_epoch::TableEpoch;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, also after a thread has panicked that held it: nothing here panics halfway through
/// a change.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The server: tables by epoch, cross-client batching, admission, metrics; over HTTP/1.1 and 2.
//!
//! | module | what lives there |
//! |---|---|
//! | [`config`] | one short TOML file, unknown keys refused |
//! | [`server`] | start, run, shut down; usable inside a test |
//! | [`live`] | one open epoch of a table |
//! | [`source`] | where epochs come from: the disk, or a test |
//! | [`apple`] | Apple's private lookups: use cases, users' keys, requests |
//! | `stacks` | which tables belong together, and what is public of them |
//! | `logs` | the logs of publishers' catalogs |
//! | `page` | the files of a page for browsers, read once |
//! | `files` | table directories and image files |
//! | `parts` | a table in parts, all of which are here |
//! | [`past`] | older epochs: their catalogs, and what changed in their rows |
//! | `opening` | what is said while tables are opened |
//! | `epochs` | two live epochs per table, swapped atomically |
//! | [`slot`] | how epochs of a table go live: looked for, opened, read through |
//! | `batch` | asks of many clients, answered in one pass over the data |
//! | `ohttp` | a gateway of Oblivious HTTP: its keys, and what came before (feature `ohttp`) |
//! | `orders` | hints to order, made by a thread of their own |
//! | `aside` | threads that give way to the passes, for clients' keys |
//! | `meter` | so much at once, and so much more with time, for each client |
//! | `allowance` | what each client may have: hints, evaluations, registrations; over restarts, where it has to |
//! | `budget` | the time that is spent on the tables, charged to clients |
//! | `database` | embedded databases in the state directory |
//! | `backup` | a copy of the state directory, made while the server goes on |
//! | `clock` | a clock that never goes back |
//! | `admission` | clients' keys, held for a while: in memory, and on disk over restarts |
//! | `memory` | memory for requests and answers, shared by networks |
//! | [`coordinator`] | admission for whoever carries requests to the parts of a table itself |
//! | `quota` | places for what is under way, in all and of one client |
//! | `service` | what every route shares |
//! | `routes` | the public routes, one file each |
//! | `admin` | health, metrics, reload, draining and copies of the state, on a port of their own |
//! | `body` | request bodies, bounded before they are read |
//! | `refusal` | problems as responses |
//! | `metrics` | counts by table, route and outcome; never by row, key or client |
//! | `listen` | sockets, TLS, connections, graceful shutdown |
//! | [`error`] | why a server did not start, and what to do |
//!
//! An ask is read (`body`), matched to an epoch (`epochs`), queued and answered (`batch`), framed
//! (`routes`). Nothing on the way depends on what it asks for, and nothing of it is logged.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod admin;
pub mod apple;
mod backup;
mod body;
mod client_quota;
mod clock;
mod concurrency;
pub mod config;
mod database;
mod epoch_files;
pub mod epoch_source;
mod epochs;
pub mod error;
mod hint_queue;
mod listen;
mod logs;
mod low_priority;
mod memory;
mod metrics;
#[cfg(feature = "ohttp")]
mod ohttp;
mod opening;
mod part_answering;
pub mod past_epoch;
mod rate_limiter;
mod refusal;
mod routes;
mod scheduler;
pub mod served_table;
pub mod server;
mod service;
mod sessions;
mod stacks;
mod static_site;
pub mod table_epoch;
mod time_budget;

pub use apple::UseCaseSource;
pub use config::{
    AppleConfig, AppleKeys, BatchConfig, OhttpConfig, Residency, ScanConfig, ServerConfig, SessionConfig,
    TableConfig, TlsConfig, TokenConfig,
};
pub use epoch_source::{EpochSource, SourceError};
pub use error::StartError;
pub use listen::SelfSignedCertificate;
#[doc(hidden)]
pub use metrics::metrics_sample;
pub use opening::OpeningProgress;
pub use past_epoch::PastEpoch;
pub use served_table::TableStatus;
pub use server::{RunningServer, Server, ShutdownReport};
pub use sessions::coordinator;
pub use table_epoch::TableEpoch;

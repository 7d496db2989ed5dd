//! `sotto prepare`, which makes hints before they are needed, and `sotto forget`, which removes what
//! the cache knows of a table, its keys and the newest epoch seen.
//!
//! Of a preparation a server learns that a client streams the table, as every client of the scheme
//! does.

use crate::connect_args;
use crate::connect_args::{ConnectArgs, EventLog, default_cache};
use crate::failure::{Failure, Result};
use crate::screen::{Report, Screen, grid, units};
use schemars::JsonSchema;
use serde::Serialize;
use sotto_catalog::TableName;
use sotto_client::{Stack, Table};
use sotto_core::{Budget, Epoch, ExpectOrDefault};
use std::path::PathBuf;
use std::sync::Arc;

const EXAMPLE: &str = "\
Makes the first hints of a table if there are none, and the next ones if less than a quarter is left or \
with --force. Rows are streamed once and not stored. Progress is saved after every sixteenth of the rows \
and every minute, and an interrupted preparation resumes there. --preparation-rate limits the next hints, \
not the first.

Example:
  sotto prepare --server https://lookup.example --table people
  sotto prepare --server https://lookup.example --table people --force --preparation-rate 2000000";

/// Arguments of `sotto prepare`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Prepare {
    #[command(flatten)]
    remote: ConnectArgs,
    /// Make the next hints even if a quarter or more is left
    #[arg(long)]
    force: bool,
}

impl Prepare {
    pub(crate) fn run(self, screen: Screen) -> Result<Report> {
        let (bars, events) = (Arc::new(screen.bars()), EventLog::default());
        let mut table = self.remote.open(&bars, &events)?;
        if table.budget() == Budget::Unlimited {
            let scheme = &table.catalog().scheme;
            return Err(Failure::usage(format!(
                "{scheme} needs no preparation: its clients make unlimited queries"
            ))
            .fix("look rows up with `sotto get`"));
        }
        let made = if self.force { table.renew() } else { connect_args::refill(&mut table) };
        made?;
        bars.finish();
        let happened = events.print(screen)?;
        let (left, came) = (connect_args::budget(&table), table.stats().artifacts.down);
        let (name, epoch) = (&table.catalog().table, table.catalog().epoch);
        let text = grid::facts([
            ("table", format!("{name}, epoch {epoch}")),
            ("left", format!("{} queries", units::count(left.expect_or_default("its client has a budget")))),
            ("streamed", units::bytes(came)),
        ]);
        let json = PrepareReport { table: name, epoch, budget: left, artifact_bytes: came, events: happened };
        Ok(Report::new(text, &json))
    }
}

/// Hints that were made in advance.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PrepareReport<'a> {
    /// Name of the table.
    table: &'a TableName,
    epoch: Epoch,
    /// Number of queries that the hints allow.
    budget: Option<u64>,
    /// Bytes that were downloaded.
    artifact_bytes: u64,
    /// What happened meanwhile, in sentences.
    events: Vec<String>,
}

const FORGET_EXAMPLE: &str = "\
The cache remembers the newest epoch seen of a table, and the chain of keys that signed it. From then on \
an older epoch, a replaced key, and a key that is not in that chain are refused, even if pinned. This \
keeps a server from showing an old table, so forget a table only if its publisher says that it was created \
again, and pin the key that the publisher gives you.

Nothing is sent. Evidence against a publisher that showed two different tables is kept (`sotto audit \
evidence`).

Example:
  sotto forget --server http://127.0.0.1:8080 --table people";

/// Arguments of `sotto forget`.
#[derive(Debug, clap::Args)]
#[command(after_help = FORGET_EXAMPLE)]
pub(crate) struct Forget {
    /// Address of the server, as given to `sotto get`; one per role where a scheme has several
    /// servers
    #[arg(long = "server", value_name = "URL", required = true)]
    servers: Vec<String>,
    /// Name of the table or stack
    #[arg(long, alias = "name", value_name = "NAME")]
    table: TableName,
    /// Folder of the cache [default: sotto/ in the user's cache folder]
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
}

impl Forget {
    pub(crate) fn run(self) -> Result<Report> {
        let (table, cache) = (self.table.as_str(), self.cache.map_or_else(default_cache, Ok)?);
        let servers: Vec<&str> = self.servers.iter().map(String::as_str).collect();
        let of_table = Table::connect_all(&servers, table).insecure_plaintext().cache_dir(&cache).forget();
        let of_stack = Stack::connect_all(&servers, table).insecure_plaintext().cache_dir(&cache).forget();
        let forgotten = of_table? | of_stack?;
        let text = match forgotten {
            true => format!("forgotten: the next key and epoch seen of {table} are trusted, so pin its key"),
            false => format!("{} has no entry for {table} at that address", cache.display()),
        };
        Ok(Report::new(text, &ForgetReport { table, forgotten }))
    }
}

/// A table that the cache forgot.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ForgetReport<'a> {
    /// Name of the table or stack.
    table: &'a str,
    /// Whether the cache had an entry for it.
    forgotten: bool,
}

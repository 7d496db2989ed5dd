//! `sotto forget`: removes what the cache knows of a table, its keys and the newest epoch seen.

use super::connect_args::default_cache;
use crate::exit_mapping;
use crate::failure::Result;
use crate::screen::Screen;
use serde_json::json;
use sotto_catalog::TableName;
use sotto_client::{Stack, Table};
use std::path::PathBuf;

const EXAMPLE: &str = "\
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
#[command(after_help = EXAMPLE)]
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
    pub(crate) fn run(self, screen: Screen) -> Result<()> {
        let (table, cache) = (self.table.as_str(), self.cache.map_or_else(default_cache, Ok)?);
        let servers: Vec<&str> = self.servers.iter().map(String::as_str).collect();
        let of_table = Table::connect_all(&servers, table).insecure_plaintext().cache_dir(&cache).forget();
        let of_stack = Stack::connect_all(&servers, table).insecure_plaintext().cache_dir(&cache).forget();
        let forgotten = of_table.map_err(exit_mapping::client)? | of_stack.map_err(exit_mapping::client)?;
        screen.say(match forgotten {
            true => format!("forgotten: the next key and epoch seen of {table} are trusted, so pin its key"),
            false => format!("{} has no entry for {table} at that address", cache.display()),
        })?;
        screen.report(&json!({ "table": table, "forgotten": forgotten }))
    }
}

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
The cache remembers the newest epoch that was seen of a table, and the keys that led there. An older epoch, a key that was \
replaced, and a key that nothing leads to are refused from then on, whoever pins them. That is what keeps a server from showing \
an old table, so forget a table only if its publisher says that it was made anew, and pin the key that they give you.

Nothing is sent. Evidence of a publisher that showed two different tables is kept (sotto audit evidence).

Example:
  sotto forget --server http://127.0.0.1:8080 --table people";

/// Arguments of `sotto forget`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Forget {
    /// The server's address, as it was given to `sotto get`; one for each role of a table that has several
    #[arg(long = "server", value_name = "URL", required = true)]
    servers: Vec<String>,
    /// Name of the table or stack
    #[arg(long, alias = "name", value_name = "NAME")]
    table: TableName,
    /// The cache [default: sotto/ in the user's cache folder]
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
            true => format!(
                "forgotten: what is shown next of {table} is believed as on a first visit, so pin its key"
            ),
            false => format!("{} remembers nothing of {table} at that address", cache.display()),
        })?;
        screen.report(&json!({ "table": table, "forgotten": forgotten }))
    }
}

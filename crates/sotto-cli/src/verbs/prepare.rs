//! `sotto prepare`: makes hints before they are needed. The server learns that a client streams the
//! table, as every client of the scheme does.

use super::client_events::{self, EventLog};
use super::connect_args::ConnectArgs;
use crate::exit_mapping;
use crate::failure::{Failure, Result};
use crate::screen::{Screen, grid, units};
use serde_json::json;
use sotto_core::{Budget, ExpectOrDefault};
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
    pub(crate) fn run(self, screen: Screen) -> Result<()> {
        let (bars, events) = (Arc::new(screen.bars()), EventLog::default());
        let mut table = self.remote.open(&bars, &events)?;
        if table.budget() == Budget::Unlimited {
            let scheme = &table.catalog().scheme;
            return Err(Failure::usage(format!(
                "{scheme} needs no preparation: its clients make unlimited queries"
            ))
            .fix("look rows up with `sotto get`"));
        }
        let made = if self.force { table.renew() } else { client_events::refill(&mut table) };
        made.map_err(exit_mapping::client)?;
        bars.finish();
        let happened = events.print(screen)?;
        let (left, came) = (client_events::budget(&table), table.stats().artifacts.down);
        screen.say(grid::facts([
            ("table", format!("{}, epoch {}", table.catalog().table, table.catalog().epoch)),
            ("left", format!("{} queries", units::count(left.expect_or_default("its client has a budget")))),
            ("streamed", units::bytes(came)),
        ]))?;
        screen.report(&json!({
            "table": table.catalog().table,
            "epoch": table.catalog().epoch,
            "budget": left,
            "artifact_bytes": came,
            "events": happened,
        }))
    }
}

//! `sotto get`: looks rows up. The server learns that somebody asked, how much and when; not what.
//!
//! | module | what it does |
//! |---|---|
//! | `stream` | a row of many megabytes, written to a file while it comes |

mod stream;

use super::remote::Remote;
use super::state::{self, Events};

use crate::blame;
use crate::failure::Result;
use crate::screen::{Screen, grid, units};
use serde_json::json;
use sotto_client::Table;
use sotto_client::session::Trust;
use sotto_client::table::LookupStats;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const EXAMPLE: &str = "\
All rows and keys of one call travel in one request: the server sees how many there are, and nothing of \
which. Static files (hints) are fetched once per epoch and kept in the cache, which also remembers the \
table's public key and refuses another one, or an older epoch, from then on. Whoever can read the cache \
learns which tables you use, not which rows.

Schemes such as dpf ask two servers, and hide a row from each as long as the two do not put together what they \
see: give --server twice, server 0 first, and only servers of operators you trust not to do that. One operator \
of both would see every question. Naming one server twice is refused; who runs a server no program can tell.

Schemes such as s3pir give this machine hints, made from all rows of the table, and use one up with each query. They \
lie in the state folder, with what is left of them (`sotto inspect --state`). A copy of that folder, a restored \
backup and a cloned machine would use hints twice, and so give away what was asked: that is noticed by where the \
files lie and by an anchor in a second folder, and the hints are made anew. A machine that goes back in time whole, \
anchor and all, is not noticed: put the anchor on a disk that is not restored with it, or delete the state.

Once less than a quarter of the hints is left, every call makes a part of the next ones while it asks, and the next call goes \
on from there. A call never waits for all of them, unless none are left or --renew is given. `sotto prepare` makes them \
in one go, while nobody waits.

Example:
  sotto get --server http://127.0.0.1:8080 --table ip-country --key 8.8.8.8
  sotto get --server https://lookup.example --table people --row 7 --row 12 --pin sotto-pk:...
  sotto get --server https://one.example --server https://other.example --table people --row 7
  sotto get --server https://lookup.example --table films --stream --row 7 -o film.mp4";

/// How long the end of a command may take, for hints that are made ahead to be written down.
const PATIENCE: Duration = Duration::from_secs(2);

/// Arguments of `sotto get`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Get {
    #[command(flatten)]
    remote: Remote,
    /// A row by its number, counted from 0; may be repeated
    #[arg(long = "row", visible_alias = "index", value_name = "N", required_unless_present = "keys")]
    rows: Vec<u64>,
    /// A row by a key it stands for, such as an address; may be repeated
    #[arg(long = "key", value_name = "KEY")]
    keys: Vec<String>,
    /// Fetch one row piece by piece and write it to a file, for rows of many megabytes
    #[arg(long, requires = "output")]
    stream: bool,
    /// The file a streamed row goes to; it appears when it is whole
    #[arg(short, long, value_name = "FILE", requires = "stream")]
    output: Option<PathBuf>,
    /// After answering, wait until new hints are made, if less than a quarter of them is left; or order those that are due
    #[arg(long)]
    renew: bool,
}

impl Get {
    pub(crate) fn run(self, screen: Screen) -> Result<()> {
        let bars = Arc::new(screen.bars());
        if let (true, Some(file)) = (self.stream, &self.output) {
            return self.stream(screen, &bars, file);
        }
        let events = Events::default();
        let mut table = self.remote.open(&bars, &events)?;
        let looked_up = self.look_up(&mut table);
        if self.renew && looked_up.is_ok() {
            state::refill(&mut table).map_err(blame::client)?;
        }
        bars.finish();
        let happened = events.tell(screen)?;
        let (rows, values) = looked_up?;
        let shown: Vec<_> = values.iter().map(|value| table.catalog().value.show(value)).collect();
        for (row, (name, value)) in rows.iter().zip(self.names().zip(&shown)) {
            screen.say(format!("{name}  {}", printable(value, *row)))?;
        }
        if let Some(last) = table.last() {
            screen.say(facts(&table, last))?;
            let mut report = report(&self.remote.servers, &table, last, (&rows, &values, &shown));
            if let Some(object) = report.as_object_mut() {
                object.insert("budget".to_owned(), state::budget(&table).into());
                object.insert("events".to_owned(), happened.into());
            }
            screen.report(&report)?;
        }
        // Whoever wanted rows has them. What was made of the next hints meanwhile is for the next call.
        table.pause(PATIENCE).map(drop).map_err(blame::client)
    }

    /// One request for everything. Gives the rows' numbers and their bytes.
    fn look_up(&self, table: &mut Table) -> Result<(Vec<u64>, Vec<Vec<u8>>)> {
        loop {
            let epoch = table.catalog().epoch;
            let mut rows = self.rows.clone();
            for key in &self.keys {
                let row = table.catalog().row_of(key);
                rows.push(row.map_err(|error| blame::client(error.into()))?);
            }
            let values = table.get_many(&rows).map_err(blame::client)?;
            // A new epoch in between may count its blocks from another key, which would make these the
            // rows of other keys. Epochs only grow, so this ends.
            if table.catalog().epoch == epoch || self.keys.is_empty() {
                return Ok((rows, values));
            }
        }
    }

    /// What the person called each row, in the order of the request.
    fn names(&self) -> impl Iterator<Item = String> {
        self.rows.iter().map(|row| format!("row {row}")).chain(self.keys.iter().cloned())
    }
}

/// A value that cannot move the cursor: the publisher chose it, not the person at the terminal.
fn printable(value: &str, row: u64) -> String {
    if value.is_empty() {
        return format!("(empty: row {row} holds no value)");
    }
    value.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn trust(trust: Trust) -> &'static str {
    match trust {
        Trust::Pinned => "the key that is pinned",
        Trust::Remembered => "the key of earlier calls",
        Trust::FirstUse => "the first key seen: give --pin to be sure",
    }
}

fn facts(table: &Table, last: &LookupStats) -> String {
    let stats = table.stats();
    let who = if last.servers.len() > 1 { "slowest server" } else { "server" };
    let server = last.timing().map(|timing| {
        format!(
            " ({who} {}, of which {} queued)",
            units::time(timing.queue + timing.pass),
            units::time(timing.queue)
        )
    });
    let keys = match (stats.keys.up, stats.orders.down) {
        (0, 0) => "nothing".to_owned(),
        (0, hints) => format!("{} of hints, made to order", units::bytes(hints)),
        (up, _) => format!("{} of keys up", units::bytes(up)),
    };
    let once = match (stats.artifacts.down, stats.patched_bytes, stats.cached_bytes) {
        (0, _, 0) => keys,
        (0, _, cached) => format!("nothing ({} came from the cache)", units::bytes(cached)),
        (down, 0, _) => units::bytes(down),
        (down, patched, _) => {
            format!("{} (patched {} kept from before)", units::bytes(down), units::bytes(patched))
        }
    };
    grid::facts([
        ("table", format!("{}, epoch {}", table.catalog().table, last.epoch)),
        ("signed by", table.session().public_key().to_string()),
        ("trusted as", trust(table.trust()).to_owned()),
        ("bytes", format!("{} up, {} down", units::bytes(last.up), units::bytes(last.down))),
        ("once", once),
        ("left", state::left(table)),
        (
            "time",
            format!(
                "query {}, round trip {}{}, recover {}",
                units::time(last.query),
                units::time(last.round_trip),
                server.unwrap_or_default(),
                units::time(last.recover)
            ),
        ),
    ])
}

fn report(
    servers: &[String],
    table: &Table,
    last: &LookupStats,
    (rows, values, shown): (&[u64], &[Vec<u8>], &[String]),
) -> serde_json::Value {
    let stats = table.stats();
    let answers: Vec<_> = rows
        .iter()
        .zip(values.iter().zip(shown))
        .map(|(row, (value, shown))| json!({ "row": row, "hex": units::hex(value), "value": shown }))
        .collect();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let timing = last.timing();
    let each = servers.iter().zip(&last.servers).map(|(url, share)| {
        json!({
            "server": url,
            "up_bytes": share.up,
            "down_bytes": share.down,
            "queue_ms": share.timing.map(|timing| ms(timing.queue)),
            "pass_ms": share.timing.map(|timing| ms(timing.pass)),
        })
    });
    json!({
        "table": table.catalog().table,
        "epoch": last.epoch,
        "public_key": table.session().public_key().to_string(),
        "trust": match table.trust() {
            Trust::Pinned => "pinned",
            Trust::Remembered => "remembered",
            Trust::FirstUse => "first-use",
        },
        "answers": answers,
        "queries": last.queries,
        "up_bytes": last.up,
        "down_bytes": last.down,
        "once": {
            "catalog_bytes": stats.catalog.down,
            "artifact_bytes": stats.artifacts.down,
            "cached_bytes": stats.cached_bytes,
            "patched_bytes": stats.patched_bytes,
            "keys_bytes": stats.keys.up,
            "hint_bytes": stats.orders.down,
        },
        "query_ms": ms(last.query),
        "round_trip_ms": ms(last.round_trip),
        "recover_ms": ms(last.recover),
        "server_queue_ms": timing.map(|timing| ms(timing.queue)),
        "server_pass_ms": timing.map(|timing| ms(timing.pass)),
        "servers": each.collect::<Vec<_>>(),
        "retries": stats.retries,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_cannot_move_the_cursor() {
        assert_eq!(printable("a\u{1b}[2Jb\n", 0), "a\u{fffd}[2Jb\u{fffd}");
        assert_eq!(printable("Zürich", 0), "Zürich");
        assert!(printable("", 7).contains("row 7"));
    }
}

//! `sotto get`: looks up rows. The server learns that there was a lookup, of how much and when, but
//! not of what.
//!
//! The lookups of a table are here; [`batch`] has those of a stack, [`stream`] those of a row of many
//! megabytes, which is written to a file while it arrives, and [`cover`] rounds of one size at fixed
//! times.

pub(crate) mod batch;
mod cover;
pub(crate) mod stream;

use crate::apple::get::{AppleArgs, AppleCall};
use crate::connect_args::{ConnectArgs, EventLog, TableOrStack};
use crate::failure::{Failure, Result};
use crate::lookups::{PrintedResult, RequestedLookups, ResultReport, RowList, all};
use crate::screen::progress::StageUnit;
use crate::screen::{Report, Screen, grid, units};
use crate::{connect_args, lookups, table_summary};
use cover::CoverArgs;
use schemars::JsonSchema;
use serde::Serialize;
use sotto_catalog::TableName;
use sotto_client::Table;
use sotto_client::session::Trust;
use sotto_client::table::LookupStats;
use sotto_core::Epoch;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const EXAMPLE: &str = "\
Example:
  sotto get --server http://127.0.0.1:8080 --table ip-country --key 8.8.8.8
  sotto get --server https://lookup.example --table blocked --key example.com --key example.org
  sotto get --server https://lookup.example --table blocked --keys-file domains.txt
  sotto get --server https://lookup.example --table people --row 7,12,40..44 --pin sotto-pk:...
  sotto get --server https://lookup.example --table blooms --bit 123456789
  sotto get --server https://one.example --server https://other.example --table people --row 7
  sotto get --server https://lookup.example --table films --stream --row 7 -o film.mp4
  sotto get --server https://lookup.example --table notes --row 7 --rounds 20 --interval 30s
  sotto get --apple https://lookup.example --use-case callers --key +15550001234";

const DETAILS: &str = "\
A symmetric table (`sotto encode --symmetric`) takes one evaluation per row, after the lookup. The server \
sees how many evaluations a client makes, and may limit them.

A key that the table does not have is reported as missing; the server sees no difference. Any number of \
rows and keys may be given, such as a file of 10,000 keys. A request carries as many as fit (64 rows or 32 \
keys of most tables), and all requests are sent, whatever the result of an earlier one. The server sees \
how many requests there are and how many queries are in each, so it learns how many rows or keys were \
looked up, but not which. A stack for batches (`sotto encode --batch`) also hides how many lookups a round \
has: every round queries all of its tables, and only the number of rounds is visible.

With --rounds and --interval the server sees as many rounds of --round-size lookups, one each interval, \
whatever is looked up: the first rounds have what was asked for, and the others cover it. A lookup that \
fails is made again in the next round, with new randomness. Results are printed after the last round, \
so that nobody stops early: the end of a call is seen, too.

Hints for download are fetched once per epoch and cached. The cache also remembers the public key and the \
newest epoch of each table, and another key or an older epoch is refused from then on. Whoever can read \
the cache learns which tables were used, but not which rows.

Schemes such as fspiral register evaluation keys with the server. Calls within an hour share them, for up \
to 256 queries, so the server can link these calls to one client; it does not see what they look up. \
--fresh-keys makes a call that cannot be linked by its keys. Stored keys lie encrypted in the cache, and \
the key that decrypts them in a file of its own that only you can read (mode 0600; on systems without \
modes, as its folder allows). Whoever copies the cache without that file learns no keys. Whoever has both, \
and recorded your traffic, learns what was looked up under those keys: where that matters, delete both, or \
use --fresh-keys.

A busy server, or another call that uses the same state, is waited for as long as --max-wait says.

Schemes such as dpf query two servers, and hide a row from each as long as the two do not collude. Give \
--server twice, server 0 first, and use servers of different operators: an operator of both would see \
every lookup. The same server given twice is refused, but no program can tell who operates a server.

Schemes such as s3pir make hints on this machine from all rows of the table, and each query spends one. \
Hints lie in the state folder (`sotto inspect --state` shows how many queries are left). A copy of that \
folder, a restored backup or a cloned machine would spend hints twice and so reveal lookups. This is \
detected by a fingerprint of the files and by a rollback counter in a second folder, and the hints are \
made again. A machine that is rolled back as a whole, counter included, is not detected: keep the counter \
(--rollback-dir) on a disk that is not restored with it, or delete the state.

Once less than a quarter of the hints is left, each call makes a part of the next ones during its lookup, \
and the next call continues. A call waits for all of them only if none are left, or with --refill. `sotto \
prepare` makes them all at once, in advance.

With --apple, lookups go to a server of Apple's private lookups (`sotto serve --apple`), as a phone makes \
them: the client fetches the configuration, uploads its keys if the server has none, and sends its \
queries. Keys, and the random user name without --user, are stored and expire like all registered keys. \
Neither answers nor the configuration are proved. The configuration may divide the table into shards, and \
a query names the shard of its key: more than one shard is refused before anything is sent, unless \
--max-shards allows that many. What each server may have learned is recorded permanently in the state \
folder: a server that later names other shards, or does so in another use case, would learn more about the \
same key. Such a change is refused until --accept-shards names it.

With --user-token each request carries a token. Tokens are fetched 32 at a time and stored encrypted in \
the cache, so that the issuer cannot link a request to a user by its time. The first call fetches tokens \
before its lookup, and a call that leaves fewer than eight fetches more after it: those two calls the \
issuer can link. To keep fetching and lookups apart, use --fetch-tokens from a timer, and --stored-tokens. \
Without a cache each call fetches a batch of its own.";

/// Maximum time that the end of a command takes to save hints that are being prepared.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// Arguments of `sotto get`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE, after_long_help = format!("{EXAMPLE}\n\n{DETAILS}"))]
pub(crate) struct Get {
    #[command(flatten)]
    remote: ConnectArgs,
    /// Row numbers, counted from 0: 7, or 7,9, or 5..9, which is 5 to 8; repeatable
    #[arg(long = "row", visible_alias = "index", value_name = "N")]
    #[arg(required_unless_present_any = ["bits", "keys", "keys_file", "fetch_tokens"])]
    rows: Vec<RowList>,
    /// Bit numbers, counted over all rows, from the least significant bit of each byte; lists as
    /// for --row
    #[arg(long = "bit", value_name = "N", conflicts_with_all = ["keys", "keys_file", "stream"])]
    bits: Vec<RowList>,
    /// Key of a keyword table, or key within a range, such as an address; repeatable
    #[arg(long = "key", value_name = "KEY", allow_hyphen_values = true)]
    keys: Vec<String>,
    /// File of keys, one per line; - for standard input
    #[arg(long, value_name = "FILE")]
    keys_file: Option<PathBuf>,
    /// Fetch one row unit by unit and write it to a file, for rows of many megabytes
    #[arg(long, requires = "output")]
    stream: bool,
    /// File for the row of --stream; it appears when the row is complete
    #[arg(short, long, value_name = "FILE", requires = "stream")]
    output: Option<PathBuf>,
    /// After the lookup, refill the hints if less than a quarter is left
    #[arg(long)]
    refill: bool,
    #[command(flatten)]
    cover: CoverArgs,
    // The last one: its heading is that of all arguments after it.
    #[command(flatten)]
    apple: AppleArgs,
}

impl Get {
    pub(crate) fn run(self, screen: Screen) -> Result<Report> {
        let mut keys = lookups::options(&self.keys);
        if let Some(file) = &self.keys_file {
            keys.extend(lookups::keys(file)?);
        }
        let requested = RequestedLookups { rows: all(&self.rows), bits: all(&self.bits), keys };
        self.cover.check(requested.lookups().len())?;
        if let Some(url) = self.apple.url() {
            let (args, remote, requested) = (&self.apple, &self.remote, &requested);
            return AppleCall { url, args, remote, requested }.run(screen);
        }
        let bars = Arc::new(screen.bars());
        if let (true, Some(file)) = (self.stream, &self.output) {
            return self.stream(&bars, file, &requested);
        }
        let events = EventLog::default();
        let mut table = match self.remote.open_either(&bars, &events)? {
            TableOrStack::Table(table) => *table,
            TableOrStack::Stack(mut batch) => {
                return self.look_up_stack(screen, &bars, &mut batch, &events, &requested);
            }
        };
        bars.at("querying", 0, 0, StageUnit::Share);
        let mut total: Option<LookupStats> = None;
        let looked_up = self.cover.look_up(&requested.lookups(), &bars, |lookups| {
            let results = table.get_each(lookups);
            match (&mut total, table.last_lookup()) {
                (Some(total), Some(last)) => total.add(last.clone()),
                (_, last) => total = last.cloned(),
            }
            results
        });
        let looked_up = looked_up.map_err(Failure::from);
        if self.refill && looked_up.is_ok() {
            connect_args::refill(&mut table)?;
        }
        bars.finish();
        let events = events.print(screen)?;
        let answers = requested.answers(table.catalog().value, looked_up?);
        // Printed first, since what follows is for the next call: progress on the next hints.
        match total {
            Some(last) => screen.print(self.report(&table, &last, &answers, &events))?,
            None => screen.print_text(PrintedResult::lines(&answers).trim_end())?,
        }
        table.pause(MAX_WAIT).map(drop)?;
        requested.check(&answers).map(|()| Report::default())
    }
}

/// How a key came to be trusted: the word in JSON, and for a person.
fn trust(trust: Trust) -> (&'static str, String) {
    let (word, text) = match trust {
        Trust::Pinned => ("pinned", "the pinned key"),
        Trust::Remembered => ("remembered", "the key remembered from earlier calls"),
        Trust::FirstUse => ("first-use", "the first key seen; give --pin to verify it"),
    };
    (word, text.to_owned())
}

impl Get {
    /// The answers of a table, and what they cost.
    fn report(
        &self,
        table: &Table,
        last: &LookupStats,
        answers: &[PrintedResult],
        events: &[String],
    ) -> Report {
        let stats = table.stats();
        let who = if last.servers.len() > 1 { "slowest server" } else { "server" };
        let timing = last.timing();
        let server = timing.map(|timing| {
            format!(
                " ({who} {}, of which {} queued)",
                units::time(timing.queue + timing.pass),
                units::time(timing.queue)
            )
        });
        let keys = match (stats.keys.up, stats.hint_requests.down) {
            (0, 0) if table.session().sizes().keys_bytes > 0 => {
                "nothing (keys of an earlier call)".to_owned()
            }
            (0, 0) => "nothing".to_owned(),
            (0, hints) => format!("{} of requested hints", units::bytes(hints)),
            (up, _) => format!("{} of keys up", units::bytes(up)),
        };
        let once = match (stats.artifacts.down, stats.patched_bytes, stats.cached_bytes) {
            (0, _, 0) => keys,
            (0, _, cached) => format!("nothing ({} from the cache)", units::bytes(cached)),
            (down, 0, _) => units::bytes(down),
            (down, patched, _) => {
                format!("{} (a delta for {} in the cache)", units::bytes(down), units::bytes(patched))
            }
        };
        let opened = last.evaluations.map(|opened| {
            let what = if opened.count == 1 {
                "1 evaluation".to_owned()
            } else {
                format!("{} evaluations", opened.count)
            };
            let (up, down) = (units::bytes(opened.up), units::bytes(opened.down));
            ("opened by", format!("{what}: {up} up, {down} down, {}", units::time(opened.time)))
        });
        let (name, snapshot) = (&table.catalog().table, table_summary::snapshot(table.catalog().digest()));
        let (public_key, (word, trusted_as)) =
            (table.session().public_key().to_string(), trust(table.trust()));
        let is_verified = table.session().is_verified();
        let verified = match table.session().scheme() {
            scheme if scheme.is_downloadable() => "each row, by the signed digest of the download",
            _ if is_verified => "each row, against the signed root",
            _ => "no: the table has no row proofs",
        };
        let time = format!(
            "query {}, round trip {}{}, recover {}",
            units::time(last.query),
            units::time(last.round_trip),
            server.unwrap_or_default(),
            units::time(last.recover)
        );
        let mut facts = vec![
            ("table", format!("{name}, epoch {}", last.epoch)),
            ("snapshot", snapshot.clone()),
            ("signed by", public_key.clone()),
            ("trusted as", trusted_as),
            ("verified", verified.to_owned()),
            ("bytes", format!("{} up, {} down", units::bytes(last.up), units::bytes(last.down))),
            ("once", once),
            ("left", connect_args::left(table)),
            ("time", time),
        ];
        if last.requests > 1 {
            let (requests, queries) = (units::count(last.requests), units::count(last.queries));
            facts.push(("seen", format!("{requests} requests with {queries} queries from this address")));
        }
        facts.extend(opened);
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let each = self.remote.servers.iter().zip(&last.servers).map(|(url, share)| ServerShare {
            server: url,
            up_bytes: share.up,
            down_bytes: share.down,
            queue_ms: share.timing.map(|timing| ms(timing.queue)),
            pass_ms: share.timing.map(|timing| ms(timing.pass)),
        });
        let json = GetReport {
            table: name,
            epoch: last.epoch,
            snapshot,
            public_key,
            trust: word,
            verified: is_verified,
            answers: PrintedResult::reports(answers),
            budget: connect_args::budget(table),
            events,
            requests: last.requests,
            queries: last.queries,
            evaluations: last.evaluations.map(|opened| EvaluationReport {
                count: opened.count,
                up_bytes: opened.up,
                down_bytes: opened.down,
                ms: ms(opened.time),
            }),
            up_bytes: last.up,
            down_bytes: last.down,
            once: BytesOnce {
                catalog_bytes: stats.catalog.down,
                artifact_bytes: stats.artifacts.down,
                cached_bytes: stats.cached_bytes,
                patched_bytes: stats.patched_bytes,
                keys_bytes: stats.keys.up,
                hint_bytes: stats.hint_requests.down,
            },
            query_ms: ms(last.query),
            round_trip_ms: ms(last.round_trip),
            recover_ms: ms(last.recover),
            server_queue_ms: timing.map(|timing| ms(timing.queue)),
            server_pass_ms: timing.map(|timing| ms(timing.pass)),
            servers: each.collect(),
            retries: stats.retries,
        };
        Report::new(PrintedResult::lines(answers) + &grid::facts(facts), &json)
    }
}

/// Lookups in a table, and their cost.
#[derive(Serialize, JsonSchema)]
pub(crate) struct GetReport<'a> {
    /// Name of the table.
    table: &'a TableName,
    epoch: Epoch,
    /// Digest of the table's catalog.
    snapshot: String,
    /// Public key that signed the catalog.
    public_key: String,
    /// Why the key is trusted: `pinned`, `remembered` or `first-use`.
    trust: &'static str,
    /// Whether each row was verified against what the publisher signed.
    verified: bool,
    /// Results, in the order of the request.
    answers: Vec<ResultReport>,
    /// Number of queries that the client's hints still allow; null without hints.
    budget: Option<u64>,
    /// What happened meanwhile, in sentences.
    events: &'a [String],
    /// Number of requests to each server.
    requests: u64,
    /// Number of queries in all requests.
    queries: u64,
    /// Evaluations of a symmetric table.
    evaluations: Option<EvaluationReport>,
    /// Bytes of all queries.
    up_bytes: u64,
    /// Bytes of all answers.
    down_bytes: u64,
    /// What was moved before the first lookup.
    once: BytesOnce,
    /// Time to make the queries.
    query_ms: f64,
    /// Time from the first request to the last answer.
    round_trip_ms: f64,
    /// Time to read the answers.
    recover_ms: f64,
    /// Time that the slowest server let the queries wait, if it says so.
    server_queue_ms: Option<f64>,
    /// Time of the slowest server's pass over the table, if it says so.
    server_pass_ms: Option<f64>,
    /// Each server's part.
    servers: Vec<ServerShare<'a>>,
    /// Number of requests that were repeated.
    retries: u64,
}

/// The part of one server in lookups.
#[derive(Serialize, JsonSchema)]
struct ServerShare<'a> {
    /// Address of the server.
    server: &'a str,
    up_bytes: u64,
    down_bytes: u64,
    /// Time that the queries waited, if the server says so.
    queue_ms: Option<f64>,
    /// Time of the pass over the table, if the server says so.
    pass_ms: Option<f64>,
}

/// Evaluations that open the rows of a symmetric table.
#[derive(Serialize, JsonSchema)]
struct EvaluationReport {
    count: u64,
    up_bytes: u64,
    down_bytes: u64,
    ms: f64,
}

/// Bytes that are moved before the first lookup in a table.
#[derive(Serialize, JsonSchema)]
struct BytesOnce {
    catalog_bytes: u64,
    /// Bytes of hints and other files that were downloaded.
    artifact_bytes: u64,
    /// Bytes that the cache had.
    cached_bytes: u64,
    /// Bytes in the cache that a delta brought up to date.
    patched_bytes: u64,
    /// Bytes of evaluation keys that were registered.
    keys_bytes: u64,
    /// Bytes of hints that a server made on request.
    hint_bytes: u64,
}

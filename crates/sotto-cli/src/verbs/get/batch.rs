//! The lookups of `sotto get` over a stack for batches: as many rounds as they need, each of which queries
//! all tables of the stack.

use super::{Get, trust};
use crate::connect_args::EventLog;
use crate::failure::{Failure, Result};
use crate::lookups::{PrintedResult, RequestedLookups, ResultReport};
use crate::screen::progress::ProgressLine;
use crate::screen::{Report, Screen, grid, units};
use crate::table_summary;
use schemars::JsonSchema;
use serde::Serialize;
use sotto_catalog::{TableName, ValueKind};
use sotto_client::stack::BatchStack;
use sotto_client::table::Stats;
use sotto_core::Epoch;
use std::time::Instant;

impl Get {
    /// Makes all lookups over a stack, in as many rounds as necessary.
    pub(super) fn look_up_stack(
        &self,
        screen: Screen,
        bars: &ProgressLine,
        batch: &mut BatchStack,
        events: &EventLog,
        requested: &RequestedLookups,
    ) -> Result<Report> {
        if self.refill {
            return Err(Failure::usage("--refill does not apply to a stack").fix("omit --refill"));
        }
        let (lookups, before) = (requested.lookups(), request_bytes(batch));
        let rounds = self.cover.rounds(lookups.len(), batch.layers().max_batch());
        let began = Instant::now();
        let looked_up = self.cover.look_up(&lookups, bars, |lookups| batch.get_each(lookups));
        let looked_up = looked_up.map_err(Failure::from);
        bars.finish();
        let took = began.elapsed();
        let events = events.print(screen)?;
        let kind = batch.stack().tables().first().map_or(ValueKind::Bytes, |table| table.catalog().value);
        let answers = requested.answers(kind, looked_up?);
        let after = request_bytes(batch);
        let (up, down) = (after.0 - before.0, after.1 - before.1);
        let (stack, sizes) = (batch.stack(), batch.layers().code().sizes());
        let (document, tables) = (stack.document(), stack.tables());
        let sum = |of: fn(&Stats) -> u64| -> u64 { tables.iter().map(|table| of(&table.stats())).sum() };
        let artifact_bytes = sum(|stats| stats.artifacts.down);
        let (cached_bytes, keys_bytes) = (sum(|stats| stats.cached_bytes), sum(|stats| stats.keys.up));
        let once = match (artifact_bytes, cached_bytes, keys_bytes) {
            (0, 0, 0) => "nothing".to_owned(),
            (0, cached, 0) => format!("nothing ({} from the cache)", units::bytes(cached)),
            (down, _, 0) => units::bytes(down),
            (down, _, keys) => format!("{}, {} of keys up", units::bytes(down), units::bytes(keys)),
        };
        // Each bucket is visited once.
        let saved: usize = tables.iter().map(|table| table.session().buckets() - 1).sum();
        let lookups = table_summary::lookups(sizes.lookups(), sizes.lookups().saturating_sub(saved));
        let times =
            if rounds == 1 { String::new() } else { format!("{} times ", units::count(rounds as u64)) };
        let (snapshot, public_key) =
            (table_summary::snapshot(document.digest()), stack.public_key().to_string());
        let (word, trusted_as) = trust(stack.trust());
        let facts = grid::facts([
            ("stack", format!("{}, epoch {}", document.stack, document.epoch)),
            ("snapshot", snapshot.clone()),
            ("signed by", public_key.clone()),
            ("trusted as", trusted_as),
            ("seen", format!("{times}{lookups} in {} tables, as in every request", tables.len())),
            ("bytes", format!("{} up, {} down", units::bytes(up), units::bytes(down))),
            ("once", once),
            ("time", units::time(took)),
        ]);
        let json = RoundReport {
            stack: &document.stack,
            epoch: document.epoch,
            snapshot,
            public_key,
            trust: word,
            events,
            answers: PrintedResult::reports(&answers),
            lookups: sizes.lookups(),
            tables: tables.len(),
            rounds,
            up_bytes: up,
            down_bytes: down,
            once: RoundBytesOnce { artifact_bytes, cached_bytes, keys_bytes },
            round_ms: took.as_secs_f64() * 1e3,
        };
        let report = Report::new(PrintedResult::lines(&answers) + &facts, &json);
        Ok(report.but(requested.check(&answers).err()))
    }
}

/// Lookups in a stack for batches, and their cost.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RoundReport<'a> {
    /// Name of the stack.
    stack: &'a TableName,
    epoch: Epoch,
    /// Digest of the stack's document.
    snapshot: String,
    /// Public key that signed the stack.
    public_key: String,
    /// Why the key is trusted: `pinned`, `remembered` or `first-use`.
    trust: &'static str,
    /// What happened meanwhile, in sentences.
    events: Vec<String>,
    /// Results, in the order of the request.
    answers: Vec<ResultReport>,
    /// Number of lookups of each round, whatever was requested.
    lookups: usize,
    /// Number of tables in the stack.
    tables: usize,
    /// Number of rounds, which servers see.
    rounds: usize,
    up_bytes: u64,
    down_bytes: u64,
    /// What was moved before the first round.
    once: RoundBytesOnce,
    /// Time of all rounds.
    round_ms: f64,
}

/// Bytes that are moved before the first round over a stack.
#[derive(Serialize, JsonSchema)]
struct RoundBytesOnce {
    /// Bytes of hints and other files that were downloaded.
    artifact_bytes: u64,
    /// Bytes that the cache had.
    cached_bytes: u64,
    /// Bytes of evaluation keys that were registered.
    keys_bytes: u64,
}

/// Bytes of all query requests so far, up and down.
fn request_bytes(batch: &BatchStack) -> (u64, u64) {
    let requests = batch.stack().tables().iter().map(|table| table.stats().query_requests);
    requests.fold((0, 0), |(up, down), bytes| (up + bytes.up, down + bytes.down))
}

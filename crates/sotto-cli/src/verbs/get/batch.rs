//! Lookups of several rows, or of the values of several keys, in rounds over a stack.

use crate::connect_args::EventLog;
use crate::failure::{Failure, Result};
use crate::lookups::PrintedResult;
use crate::lookups::RequestedLookups;
use crate::screen::{Report, Screen, grid, units};
use crate::table_summary;
use crate::verbs::get::{Get, trust};
use serde_json::{Value, json};
use sotto_catalog::ValueKind;
use sotto_client::stack::BatchStack;
use sotto_client::table::Stats;
use std::time::{Duration, Instant};

impl Get {
    /// Makes all lookups over a stack, in as many rounds as necessary.
    pub(crate) fn round(
        &self,
        screen: Screen,
        batch: &mut BatchStack,
        events: &EventLog,
        requested: &RequestedLookups,
    ) -> Result<()> {
        if self.refill {
            return Err(Failure::usage("--refill does not apply to a stack").fix("omit --refill"));
        }
        let (lookups, before) = (requested.lookups(), request_bytes(batch));
        let rounds = lookups.len().div_ceil(batch.layers().max_batch().max(1)).max(1);
        let began = Instant::now();
        let looked_up = batch.get_each(&lookups).map_err(Failure::from);
        let took = began.elapsed();
        let events = events.print(screen)?;
        let kind = batch.stack().tables().first().map_or(ValueKind::Bytes, |table| table.catalog().value);
        let answers = requested.answers(kind, looked_up?);
        requested.print(screen, &answers)?;
        let after = request_bytes(batch);
        let (up, down) = (after.0 - before.0, after.1 - before.1);
        screen.print(&RoundReport { batch, rounds, up, down, took, answers: &answers, events })?;
        requested.check(&answers)
    }
}

/// Bytes of all query requests so far, up and down.
fn request_bytes(batch: &BatchStack) -> (u64, u64) {
    let requests = batch.stack().tables().iter().map(|table| table.stats().query_requests);
    requests.fold((0, 0), |(up, down), bytes| (up + bytes.up, down + bytes.down))
}

fn sum(batch: &BatchStack, of: impl Fn(&Stats) -> u64) -> u64 {
    batch.stack().tables().iter().map(|table| of(&table.stats())).sum()
}

/// The answers of a stack, and what they cost.
struct RoundReport<'a> {
    batch: &'a BatchStack,
    rounds: usize,
    up: u64,
    down: u64,
    took: Duration,
    answers: &'a [PrintedResult],
    events: Vec<String>,
}

impl Report for RoundReport<'_> {
    fn text(&self) -> String {
        let &RoundReport { batch, rounds, up, down, took, .. } = self;
        let (stack, sizes) = (batch.stack(), batch.layers().code().sizes());
        let once = match (
            sum(batch, |stats| stats.artifacts.down),
            sum(batch, |stats| stats.cached_bytes),
            sum(batch, |stats| stats.keys.up),
        ) {
            (0, 0, 0) => "nothing".to_owned(),
            (0, cached, 0) => format!("nothing ({} from the cache)", units::bytes(cached)),
            (down, _, 0) => units::bytes(down),
            (down, _, keys) => format!("{}, {} of keys up", units::bytes(down), units::bytes(keys)),
        };
        // Each bucket is visited once.
        let saved: usize = stack.tables().iter().map(|table| table.session().buckets() - 1).sum();
        let lookups = table_summary::lookups(sizes.lookups(), sizes.lookups().saturating_sub(saved));
        let times =
            if rounds == 1 { String::new() } else { format!("{} times ", units::count(rounds as u64)) };
        let seen = format!("{times}{lookups} in {} tables, as in every request", stack.tables().len());
        grid::facts([
            ("stack", format!("{}, epoch {}", stack.document().stack, stack.document().epoch)),
            ("snapshot", table_summary::snapshot(stack.document().digest())),
            ("signed by", stack.public_key().to_string()),
            ("trusted as", trust(stack.trust()).1),
            ("seen", seen),
            ("bytes", format!("{} up, {} down", units::bytes(up), units::bytes(down))),
            ("once", once),
            ("time", units::time(took)),
        ])
    }

    fn json(&self) -> Value {
        let RoundReport { batch, rounds, up, down, took, answers, events } = self;
        let stack = batch.stack();
        json!({
            "stack": stack.document().stack,
            "epoch": stack.document().epoch,
            "snapshot": table_summary::snapshot(stack.document().digest()),
            "public_key": stack.public_key().to_string(),
            "trust": trust(stack.trust()).0,
            "events": events,
            "answers": PrintedResult::reports(answers),
            "lookups": batch.layers().code().sizes().lookups(),
            "tables": stack.tables().len(),
            "rounds": rounds,
            "up_bytes": up,
            "down_bytes": down,
            "once": {
                "artifact_bytes": sum(batch, |stats| stats.artifacts.down),
                "cached_bytes": sum(batch, |stats| stats.cached_bytes),
                "keys_bytes": sum(batch, |stats| stats.keys.up),
            },
            "round_ms": took.as_secs_f64() * 1e3,
        })
    }
}

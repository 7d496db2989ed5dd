//! Clients that make lookups, each with a table of its own; every answer is compared with the
//! content of the row.

use super::results::SoakContext;
use super::rows::mixed;
use sotto_client::{ClientError, Table};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Maximum time that a client waits for a busy server.
const MAX_WAIT: Duration = Duration::from_secs(20);

/// Number of lookups after which a client checks for a new epoch by itself; every other client
/// never does, and is notified by the server.
const REFRESH: u64 = 40;

/// Number of tables that a newcomer keeps open before it returns to the oldest, and closes it.
const OPEN_TABLES: usize = 3;

/// The outcome of a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LookupOutcome {
    Answered,
    Failed,
}

fn open(context: &SoakContext<'_>) -> Option<Table> {
    let opened =
        Table::connect(&context.url, context.table.as_str()).max_wait(MAX_WAIT).state_in_memory().open();
    match opened {
        Ok(table) => {
            context.results().opened += 1;
            Some(table)
        }
        Err(error) => {
            context.failed("opening", &error);
            std::thread::sleep(Duration::from_millis(100));
            None
        }
    }
}

/// Looks up one row. After an error the client starts over.
fn look_up(context: &SoakContext<'_>, table: &mut Table, number: u64) -> LookupOutcome {
    let row = mixed(number) % context.rows.rows.max(1);
    let (before, began) = (table.catalog().epoch, Instant::now());
    match table.get(row) {
        Ok(value) => {
            let ms = began.elapsed().as_secs_f64() * 1e3;
            let epoch = table.last_lookup().map_or(table.catalog().epoch, |lookup| lookup.epoch);
            context.check(row, epoch.0, &value);
            let mut results = context.results();
            results.ms.push(ms as f32);
            results.moved += u64::from(epoch != before);
            LookupOutcome::Answered
        }
        Err(error) => {
            context.failed("a lookup", &error);
            LookupOutcome::Failed
        }
    }
}

/// Fetches the catalog, and moves on if it has changed.
fn refresh(context: &SoakContext<'_>, table: &mut Table) -> Result<(), ClientError> {
    let is_other = table.refresh()?;
    context.results().moved += u64::from(is_other);
    Ok(())
}

/// Looks up a row each `every`, and keeps its table open for as long as that succeeds.
pub(super) fn steady(context: &SoakContext<'_>, client: u64, every: Duration) {
    let (mut table, mut lookups, mut due) = (None, 0_u64, Instant::now());
    while !context.is_over() {
        // A late client does not catch up, so that the load stays the same.
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        due = Instant::now().max(due) + every;
        let Some(open) = table.as_mut() else {
            table = open(context);
            continue;
        };
        lookups += 1;
        let outcome = look_up(context, open, lookups ^ (client << 40));
        let is_refresh_due = client.is_multiple_of(2) && lookups.is_multiple_of(REFRESH);
        let is_usable = outcome == LookupOutcome::Answered
            && (!is_refresh_due
                || refresh(context, open).map_err(|e| context.failed("following an update", &e)).is_ok());
        if !is_usable {
            table = None;
        }
    }
}

/// Opens a table, with keys if there are any, makes a lookup, pauses, makes another, and leaves.
pub(super) fn newcomers(context: &SoakContext<'_>, pause: Duration) {
    let (mut tables, mut number) = (VecDeque::new(), 1_u64 << 60);
    while !context.is_over() {
        if let Some(mut table) = open(context) {
            number += 1;
            if look_up(context, &mut table, number) == LookupOutcome::Answered {
                tables.push_back(table);
            }
        }
        if tables.len() > OPEN_TABLES
            && let Some(mut oldest) = tables.pop_front()
        {
            number += 1;
            look_up(context, &mut oldest, number);
        }
        std::thread::sleep(pause);
    }
}

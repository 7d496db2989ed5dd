//! Clients that make lookups, each with a table of its own; every answer is compared with the
//! content of the row.

use super::results::SoakContext;
use super::rows::mixed;
use sotto_client::{ClientError, Table};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Maximum time that a client waits for a busy server.
const PATIENCE: Duration = Duration::from_secs(20);

/// Number of lookups after which a client checks for a new epoch by itself; every other client
/// never does, and is notified by the server.
const LOOK: u64 = 40;

/// Number of tables that a newcomer keeps open before it returns to the oldest, and closes it.
const HELD: usize = 3;

fn open(world: &SoakContext<'_>) -> Option<Table> {
    let opened = Table::connect(&world.url, world.table.as_str()).max_wait(PATIENCE).state_in_memory().open();
    match opened {
        Ok(table) => {
            world.book().opened += 1;
            Some(table)
        }
        Err(error) => {
            world.failed("opening", &error);
            std::thread::sleep(Duration::from_millis(100));
            None
        }
    }
}

/// Looks up one row. Returns `false` after an error: the client then starts over.
fn look_up(world: &SoakContext<'_>, table: &mut Table, number: u64) -> bool {
    let row = mixed(number) % world.rows.rows.max(1);
    let (before, began) = (table.catalog().epoch, Instant::now());
    match table.get(row) {
        Ok(value) => {
            let ms = began.elapsed().as_secs_f64() * 1e3;
            let epoch = table.last_lookup().map_or(table.catalog().epoch, |lookup| lookup.epoch);
            world.check(row, epoch.0, &value);
            let mut book = world.book();
            book.ms.push(ms as f32);
            book.moved += u64::from(epoch != before);
            true
        }
        Err(error) => {
            world.failed("a lookup", &error);
            false
        }
    }
}

/// Fetches the catalog, and moves on if it has changed.
fn refresh(world: &SoakContext<'_>, table: &mut Table) -> Result<(), ClientError> {
    let is_other = table.refresh()?;
    world.book().moved += u64::from(is_other);
    Ok(())
}

/// Looks up a row each `every`, and keeps its table open for as long as that succeeds.
pub(super) fn steady(world: &SoakContext<'_>, client: u64, every: Duration) {
    let (mut table, mut asked, mut due) = (None, 0_u64, Instant::now());
    while !world.is_over() {
        // A late client does not catch up, so that the load stays the same.
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        due = Instant::now().max(due) + every;
        let Some(open) = table.as_mut() else {
            table = open(world);
            continue;
        };
        asked += 1;
        let looked = look_up(world, open, asked ^ (client << 40));
        let moved = !client.is_multiple_of(2) || !asked.is_multiple_of(LOOK);
        let went = looked
            && (moved || refresh(world, open).map_err(|e| world.failed("following an update", &e)).is_ok());
        if !went {
            table = None;
        }
    }
}

/// Opens a table, with keys if there are any, makes a lookup, pauses, makes another, and leaves.
pub(super) fn newcomers(world: &SoakContext<'_>, pause: Duration) {
    let (mut held, mut number) = (VecDeque::new(), 1_u64 << 60);
    while !world.is_over() {
        if let Some(mut table) = open(world) {
            number += 1;
            if look_up(world, &mut table, number) {
                held.push_back(table);
            }
        }
        if held.len() > HELD
            && let Some(mut oldest) = held.pop_front()
        {
            number += 1;
            look_up(world, &mut oldest, number);
        }
        std::thread::sleep(pause);
    }
}

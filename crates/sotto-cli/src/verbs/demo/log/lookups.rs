//! The part of a user: looks up which entry has a name, and proves that the entry is in the log.

use super::sample::Sample;
use super::setup::{LogServer, NAMES, PROOFS};
use crate::exit_mapping;
use crate::failure::{Failure, Result};
use crate::screen::Screen;
use crate::verbs::connect_args;
use crate::verbs::demo::lookups::SpentOnLookup;
use crate::verbs::merkle;
use serde_json::{Value, json};
use sotto_client::{Stack, Table};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The result of looking up a name.
pub(super) struct NameLookup {
    pub(super) name: String,
    /// First entry with the name, according to the table.
    pub(super) entry: Option<u64>,
    /// First entry with the name, according to the data in the clear.
    pub(super) expected: Option<u64>,
    pub(super) spent: SpentOnLookup,
}

impl NameLookup {
    /// Whether the private answer equals the data in the clear.
    pub(super) fn right(&self) -> bool {
        self.entry == self.expected
    }

    pub(super) fn json(&self) -> Value {
        self.spent.json(json!({ "name": self.name, "entry": self.entry, "right": self.right() }))
    }
}

/// A proof that was fetched and verified.
pub(super) struct Proof {
    pub(super) entry: u64,
    /// Text of the proof, in the format of `c2sp.org/tlog-proof`.
    pub(super) text: String,
    pub(super) lookups: usize,
    pub(super) up: u64,
    pub(super) down: u64,
    /// Bytes of the hints of all tables, fetched once.
    pub(super) once: u64,
    /// Time from the request to the verified proof.
    pub(super) took: Duration,
}

impl Proof {
    pub(super) fn json(&self) -> Value {
        json!({
            "entry": self.entry,
            "text": self.text,
            "lookups": self.lookups,
            "up_bytes": self.up,
            "down_bytes": self.down,
            "once_bytes": self.once,
            "ms": self.took.as_secs_f64() * 1e3,
        })
    }
}

impl LogServer {
    /// Looks up names, one request each.
    pub(super) fn look_up(
        &self,
        sample: &Sample,
        names: &[String],
        screen: Screen,
    ) -> Result<Vec<NameLookup>> {
        let bars = Arc::new(screen.bars());
        let table = Table::connect(&self.url(), NAMES)
            .pin(self.names.public_key)
            .cache_dir(&self.cache)
            .progress(connect_args::on(&bars))
            .open();
        bars.finish();
        let mut table = table.map_err(exit_mapping::client)?;
        names.iter().map(|name| look_up(&mut table, sample, name)).collect()
    }

    /// Fetches the proof of an entry privately and verifies it against the log's key, for the entry
    /// in the clear.
    pub(super) fn prove(&self, sample: &Sample, entry: u64) -> Result<Proof> {
        let opened = Stack::connect(&self.url(), PROOFS)
            .pin(self.pin)
            .cache_dir(&self.cache)
            .configure(|table| table.state_in_memory())
            .open();
        let mut stack = opened.map_err(exit_mapping::client)?;
        let of = usize::try_from(entry).ok().and_then(|entry| sample.entries.get(entry));
        let leaf =
            of.ok_or_else(|| Failure::internal("the table of names has an entry that does not exist"))?.leaf;
        let began = Instant::now();
        let text = merkle::prove(&mut stack, &self.log_key, entry, leaf)?;
        let took = began.elapsed();
        let stats = || stack.tables().iter().map(|table| table.stats());
        Ok(Proof {
            entry,
            text,
            lookups: stack.tables().len(),
            up: stats().map(|stats| stats.query_requests.up).sum(),
            down: stats().map(|stats| stats.query_requests.down).sum(),
            once: stats().map(|stats| stats.artifacts.down).sum(),
            took,
        })
    }
}

fn look_up(table: &mut Table, sample: &Sample, name: &str) -> Result<NameLookup> {
    let value = table.find(name).map_err(exit_mapping::client)?;
    let number = |value: Vec<u8>| {
        let text = table.catalog().value.show(&value);
        text.parse().map_err(|_| Failure::internal(format!("{text:?} is not an index of an entry")))
    };
    let entry = value.map(number).transpose()?;
    Ok(NameLookup {
        name: name.to_owned(),
        entry,
        expected: sample.entry_of(name),
        spent: SpentOnLookup::last(table)?,
    })
}

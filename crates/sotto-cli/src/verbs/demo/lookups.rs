//! The private lookups of the demo, each compared with the data in the clear.

use super::country::{BLOCK, Countries};
use crate::exit_mapping;
use crate::failure::{Failure, Result};
use crate::screen::units;
use serde_json::{Value, json};
use sotto_client::Table;
use std::net::Ipv4Addr;
use std::time::Duration;

/// Addresses that are always looked up: two resolvers, a registry in Europe, one in Brazil, and an
/// address of the block reserved for documentation, which has no country.
pub(super) const WELL_KNOWN: [Ipv4Addr; 5] = [
    Ipv4Addr::new(8, 8, 8, 8),
    Ipv4Addr::new(1, 1, 1, 1),
    Ipv4Addr::new(193, 0, 6, 139),
    Ipv4Addr::new(200, 160, 2, 3),
    Ipv4Addr::new(203, 0, 113, 7),
];

/// Number of bytes of each query that are shown.
const PREFIX_BYTES: usize = 16;

/// The result of one private lookup.
pub(super) struct AddressLookup {
    pub(super) address: Ipv4Addr,
    pub(super) answer: String,
    pub(super) expected: String,
    /// Whether the data has another country for this address than for the first one of its block.
    pub(super) mixed: bool,
    pub(super) spent: SpentOnLookup,
}

/// The cost of a lookup, and what the server saw of it.
pub(super) struct SpentOnLookup {
    /// Time to make the queries and to recover the answers.
    pub(super) client: Duration,
    /// Duration of the server's pass over the table.
    pub(super) pass: Duration,
    pub(super) round_trip: Duration,
    pub(super) up: u64,
    pub(super) down: u64,
    /// First bytes of the query, as sent.
    pub(super) query_prefix: Vec<u8>,
}

impl SpentOnLookup {
    /// The cost of the table's last lookup.
    pub(super) fn last(table: &Table) -> Result<Self> {
        let missing = || Failure::internal("a lookup over loopback has no times");
        let last = table.last_lookup().ok_or_else(missing)?;
        Ok(SpentOnLookup {
            client: last.query + last.recover,
            pass: last.timing().ok_or_else(missing)?.pass,
            round_trip: last.round_trip,
            up: last.up,
            down: last.down,
            query_prefix: last.query_prefix.iter().take(PREFIX_BYTES).copied().collect(),
        })
    }

    /// Adds the cost to a lookup in JSON.
    pub(super) fn json(&self, mut lookup: Value) -> Value {
        let ms = |time: Duration| json!(time.as_secs_f64() * 1e3);
        lookup["client_ms"] = ms(self.client);
        lookup["server_ms"] = ms(self.pass);
        lookup["round_trip_ms"] = ms(self.round_trip);
        lookup["up_bytes"] = json!(self.up);
        lookup["down_bytes"] = json!(self.down);
        lookup["query_prefix"] = json!(units::hex(&self.query_prefix));
        lookup
    }
}

/// Looks up `addresses`, one request each.
pub(super) fn run(
    table: &mut Table,
    addresses: &[Ipv4Addr],
    plain: &Countries,
) -> Result<Vec<AddressLookup>> {
    addresses.iter().map(|address| look_up(table, *address, plain)).collect()
}

fn look_up(table: &mut Table, address: Ipv4Addr, plain: &Countries) -> Result<AddressLookup> {
    let value = table.get_key(&address.to_string()).map_err(exit_mapping::client)?;
    // The table has one row per block: that of its first address.
    let first = Ipv4Addr::from(u32::from(address) / BLOCK * BLOCK);
    let expected = plain.of(first);
    Ok(AddressLookup {
        address,
        answer: table.catalog().value.show(&value),
        expected: expected.map(|country| String::from_utf8_lossy(&country).into_owned()).unwrap_or_default(),
        mixed: plain.of(address) != expected,
        spent: SpentOnLookup::last(table)?,
    })
}

impl AddressLookup {
    /// Whether the private answer equals the data in the clear.
    pub(super) fn right(&self) -> bool {
        self.answer == self.expected
    }

    pub(super) fn json(&self) -> Value {
        self.spent.json(json!({
            "address": self.address,
            "answer": self.answer,
            "right": self.right(),
            "mixed_block": self.mixed,
        }))
    }
}

/// The median of some durations.
pub(super) fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<_> = times.collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

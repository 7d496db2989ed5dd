//! The cost of a lookup, and what it revealed to the servers.

use serde::Serialize;
use sotto_client::Table;
use sotto_client::stack::BatchStack;
use sotto_client::table::{LookupStats, Stats};
use std::time::Duration;

/// The cost of one call that looked something up. Bytes are those of bodies, to and from all
/// servers.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "python", pyo3::pyclass(frozen, module = "sotto", get_all))]
pub struct LookupCost {
    /// Epoch that was queried.
    pub epoch: u64,
    /// Number of rows or keys that were requested.
    pub requested: usize,
    /// Number of rows that were queried, including dummy rows that fill a round up.
    pub padded_lookups: usize,
    /// Number of requests to each server.
    pub rounds: usize,
    /// Bytes sent.
    pub up: u64,
    /// Bytes received.
    pub down: u64,
    /// Bytes sent so far to open the table: keys.
    pub setup_up: u64,
    /// Bytes received so far to open the table: the catalog and the hint.
    pub setup_down: u64,
    /// Seconds of the whole call, measured below the language's own work.
    pub total: f64,
    /// Seconds to make the queries.
    pub query: f64,
    /// Seconds from the first byte sent to the last received.
    pub round_trip: f64,
    /// Seconds to recover the rows from the answers.
    pub recover: f64,
    /// Seconds that the slowest server reports for its passes, if it does.
    pub server: Option<f64>,
    /// Seconds that the slowest server reports for requests in its queue, if it does.
    pub queued: Option<f64>,
    /// Number of rows that the servers saw opened, in a symmetric table.
    pub rows_opened: u64,
    /// What the servers saw, in words.
    pub leakage: String,
    /// First bytes of the first query, as the first server saw them.
    pub query_prefix: Vec<u8>,
}

/// What servers know of a table's lookups apart from their cost.
pub(crate) struct Observation<'a> {
    /// Name of the table.
    pub(crate) table: &'a str,
    /// Number of servers.
    pub(crate) servers: u32,
    /// Whether it is a stack, all of whose rounds look the same.
    pub(crate) is_stack: bool,
    /// Whether clients have keys, by which the server can link their requests.
    pub(crate) has_keys: bool,
    /// Whether rounds were filled up to a multiple of the batch size.
    pub(crate) hides_count: bool,
}

impl LookupCost {
    /// A cost of zero, for this number of requested rows or keys.
    pub(crate) fn of(requested: usize) -> Self {
        LookupCost { requested, ..LookupCost::default() }
    }

    /// Sets the duration of the call.
    pub(crate) fn set_total(&mut self, time: Duration) {
        self.total = time.as_secs_f64();
    }

    /// Adds the requests of a table.
    pub(crate) fn add_table(&mut self, table: &Table) {
        if let Some(last) = table.last_lookup() {
            self.add(last, Times::of(last));
        }
    }

    /// Adds the rounds of a stack, whose tables are queried at the same time.
    pub(crate) fn add_stack(&mut self, batch: &BatchStack) {
        let (mut slowest, mut rounds) = (Times::default(), 0);
        for last in batch.stack().tables().iter().filter_map(Table::last_lookup) {
            slowest = slowest.max(&Times::of(last));
            rounds = rounds.max(last.requests as usize);
            self.add(last, Times::default());
        }
        self.take(slowest);
        self.rounds = rounds;
        self.epoch = batch.stack().document().epoch.0;
    }

    fn add(&mut self, last: &LookupStats, times: Times) {
        self.epoch = last.epoch.0;
        self.rounds += last.requests as usize;
        self.padded_lookups += last.rows;
        self.up += last.up;
        self.down += last.down;
        if let Some(opened) = last.evaluations {
            self.rows_opened += opened.count;
            self.up += opened.up;
            self.down += opened.down;
        }
        self.take(times);
        if self.query_prefix.is_empty() {
            self.query_prefix.clone_from(&last.query_prefix);
        }
    }

    fn take(&mut self, times: Times) {
        self.query += times.query.as_secs_f64();
        self.round_trip += times.round_trip.as_secs_f64();
        self.recover += times.recover.as_secs_f64();
        let add = |sum: &mut Option<f64>, time: Option<Duration>| {
            if let Some(time) = time {
                *sum = Some(sum.unwrap_or(0.0) + time.as_secs_f64());
            }
        };
        add(&mut self.server, times.server);
        add(&mut self.queued, times.queued);
    }

    /// Adds the traffic of opening so far.
    pub(crate) fn add_setup(&mut self, stats: &Stats) {
        for traffic in [stats.catalog, stats.artifacts, stats.keys, stats.hint_requests, stats.streams] {
            self.setup_up += traffic.up;
            self.setup_down += traffic.down;
        }
    }

    /// Describes what the servers saw.
    pub(crate) fn with_leakage(mut self, observation: &Observation<'_>) -> Self {
        let &Observation { table, servers, is_stack, has_keys, hides_count } = observation;
        let who = if servers > 1 { format!("Each of {servers} servers") } else { "The server".to_owned() };
        let requests = match self.rounds {
            1 => "one request".to_owned(),
            rounds => format!("{rounds} requests"),
        };
        let rows = match (is_stack, self.padded_lookups) {
            (true, _) => "to every table of the stack".to_owned(),
            (_, 1) => "for one row of".to_owned(),
            (_, rows) => format!("for {rows} rows of"),
        };
        let count = if hides_count { ", nor how many" } else { "" };
        let mut leakage = format!(
            "{who} saw {requests} {rows} {table}, epoch {}, from this address at this time. It did not see \
             which rows or keys were looked up{count}, nor whether the table has them",
            self.epoch
        );
        if servers > 1 {
            leakage.push_str(", as long as the servers do not collude");
        }
        leakage.push('.');
        if has_keys {
            leakage.push_str(" It can link requests that use the same keys to one client.");
        }
        if self.rows_opened > 0 {
            leakage.push_str(&format!(
                " It also saw that {} rows were opened, but not which.",
                self.rows_opened
            ));
        }
        self.leakage = leakage;
        self
    }
}

/// The times of one round.
#[derive(Default)]
struct Times {
    query: Duration,
    round_trip: Duration,
    recover: Duration,
    server: Option<Duration>,
    queued: Option<Duration>,
}

impl Times {
    fn of(last: &LookupStats) -> Self {
        let timing = last.timing();
        Times {
            query: last.query,
            round_trip: last.round_trip,
            recover: last.recover + last.evaluations.map_or(Duration::ZERO, |opened| opened.time),
            server: timing.map(|timing| timing.pass),
            queued: timing.map(|timing| timing.queue),
        }
    }

    fn max(&self, other: &Times) -> Times {
        Times {
            query: self.query.max(other.query),
            round_trip: self.round_trip.max(other.round_trip),
            recover: self.recover.max(other.recover),
            server: self.server.max(other.server),
            queued: self.queued.max(other.queued),
        }
    }
}

//! What is planned for: a table, those who ask, the link between, machines and prices, and who is trusted.

use crate::PlanError;
use serde::Serialize;
use sotto_layers::keyword::KeyStats;

/// How long a client stays: what it fetches once is spread over so many days of lookups.
pub const STAY_DAYS: f64 = 30.0;

/// The table.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "asked_by", rename_all = "kebab-case")]
pub enum TableData {
    /// Rows, asked by number.
    Row {
        /// How many.
        rows: u64,
        /// Bytes of each, as it is stored.
        row_bytes: u64,
        /// Rows that updates will be able to add.
        room: u64,
    },
    /// Values, asked by key.
    Key {
        /// How many keys.
        keys: u64,
        /// Bytes of the longest value.
        value_bytes: u64,
        /// All that sizes follow from.
        #[serde(skip)]
        counted: Box<KeyStats>,
    },
}

/// The way between a client and its server.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct NetworkLink {
    /// To the client, in 10^6 bits a second.
    pub down_mbit: f64,
    /// From it.
    pub up_mbit: f64,
    /// There and back, in milliseconds.
    pub round_trip_ms: f64,
}

/// A machine of the server, and what things cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Machine {
    /// Cores.
    pub cores: u32,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Dollars of an hour of all its cores.
    pub dollars_hour: f64,
    /// Dollars of 10^9 bytes that it sends.
    pub dollars_gb: f64,
}

/// Whom clients have to trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerTrust {
    /// Nobody: one operator sees all that is sent.
    #[default]
    OneServer,
    /// Two operators, not to put together what they see.
    TwoServers,
}

/// What the ranking goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RankBy {
    /// Dollars of a million lookups.
    #[default]
    Dollars,
    /// Time until the answer is there, under load.
    Latency,
    /// Bytes of a lookup, with its share of what is had once.
    Bytes,
    /// Core-seconds of a lookup.
    ServerTime,
}

impl RankBy {
    /// Every aim, with the name that a person types.
    pub const ALL: [(&'static str, RankBy); 4] = [
        ("dollars", RankBy::Dollars),
        ("latency", RankBy::Latency),
        ("bytes", RankBy::Bytes),
        ("server-time", RankBy::ServerTime),
    ];

    /// The name that a person types.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, aim)| *aim == self).map_or("", |(name, _)| name)
    }
}

/// All of it.
#[derive(Debug, Clone, Serialize)]
pub struct Workload {
    /// The table.
    pub data: TableData,
    /// For up to how many rows, or keys, a request is, if for more than one.
    pub batch: Option<u16>,
    /// Epochs in a day.
    pub updates_per_day: f64,
    /// The share of rows that an update changes.
    pub changed: f64,
    /// Clients.
    pub clients: u64,
    /// Requests that one client makes in a day.
    pub lookups: u64,
    /// Requests a second, of all clients together, when there are most; `None` for three times the mean.
    pub peak: Option<f64>,
    /// Between clients and server.
    pub link: NetworkLink,
    /// The server's machine.
    pub machine: Machine,
    /// Machines that the table is cut over; 1 for none.
    pub machines: u32,
    /// Whom clients trust.
    pub trust: ServerTrust,
    /// Whether rows have to be verified, since whoever serves them may lie; if not, they are where that is cheap.
    pub verified: bool,
    /// Whether clients may learn nothing but the row.
    pub symmetric: bool,
    /// The longest that a request may take under load, in milliseconds.
    pub most_latency_ms: Option<f64>,
    /// The most that a client may keep.
    pub most_client_bytes: Option<u64>,
    /// What the ranking goes by.
    pub aim: RankBy,
}

/// Largest table there is, in rows or keys.
pub const MAX_ROWS: u64 = 1 << 40;

/// Largest row.
pub const MAX_ROW_BYTES: u64 = 1 << 30;

impl Workload {
    /// A table with what is usual: a client that asks 100 times a day on a link of 50 Mbit/s down and 10 up, a table that is
    /// renewed once a day, two cores.
    pub fn usual(data: TableData) -> Self {
        Workload {
            data,
            batch: None,
            updates_per_day: 1.0,
            changed: 0.01,
            clients: 1000,
            lookups: 100,
            peak: None,
            link: NetworkLink { down_mbit: 50.0, up_mbit: 10.0, round_trip_ms: 30.0 },
            machine: Machine { cores: 2, memory_bytes: 8 << 30, dollars_hour: 0.08, dollars_gb: 0.09 },
            machines: 1,
            trust: ServerTrust::OneServer,
            verified: false,
            symmetric: false,
            most_latency_ms: None,
            most_client_bytes: None,
            aim: RankBy::Dollars,
        }
    }

    /// Refuses what nobody can plan for.
    ///
    /// # Errors
    /// [`PlanError::Workload`] with the figure and its limits.
    pub fn check(&self) -> Result<(), PlanError> {
        let count = |what, value: u64, least: u64, most: u64| {
            let why = || PlanError::workload(what, format!("is {value}: it is {least} to {most}"));
            if (least..=most).contains(&value) { Ok(()) } else { Err(why()) }
        };
        let real = |what, value: f64, least: f64, most: f64| {
            let why = || PlanError::workload(what, format!("is {value}: it is {least} to {most}"));
            if (least..=most).contains(&value) { Ok(()) } else { Err(why()) }
        };
        match &self.data {
            TableData::Row { rows, row_bytes, room } => {
                count("the number of rows", *rows, 1, MAX_ROWS)?;
                count("the room for more rows", *room, 0, MAX_ROWS)?;
                count("the width of a row", *row_bytes, 1, MAX_ROW_BYTES)?;
            }
            TableData::Key { keys, value_bytes, .. } => {
                count("the number of keys", *keys, 1, MAX_ROWS)?;
                count("the width of a value", *value_bytes, 0, MAX_ROW_BYTES)?;
            }
        }
        count("the number of rows in a request", self.batch.unwrap_or(1).into(), 1, 4096)?;
        real("the number of updates a day", self.updates_per_day, 0.0, 86_400.0)?;
        real("the share of rows that change", self.changed, 0.0, 1.0)?;
        count("the number of clients", self.clients, 1, 1 << 40)?;
        count("the number of lookups", self.lookups, 1, 1 << 30)?;
        real("the rate at peak", self.peak(), 0.0, 1e9)?;
        real("the link down", self.link.down_mbit, 1e-3, 1e6)?;
        real("the link up", self.link.up_mbit, 1e-3, 1e6)?;
        real("the round trip", self.link.round_trip_ms, 0.0, 60_000.0)?;
        count("the number of cores", self.machine.cores.into(), 1, 4096)?;
        count("the memory", self.machine.memory_bytes, 1 << 20, 1 << 50)?;
        real("the price of an hour", self.machine.dollars_hour, 0.0, 1e6)?;
        real("the price of 10^9 bytes", self.machine.dollars_gb, 0.0, 1e6)?;
        count("the number of machines", self.machines.into(), 1, 1 << 16)?;
        real("the longest latency", self.most_latency_ms.unwrap_or(1.0), 0.0, 1e9)
    }

    /// Requests a second when there are most.
    pub fn peak(&self) -> f64 {
        let mean = self.clients as f64 * self.lookups as f64 / 86_400.0;
        self.peak.unwrap_or(3.0 * mean)
    }

    /// Requests that a client makes in an epoch; one that never ends lasts as long as the client stays.
    pub fn lookups_per_epoch(&self) -> u64 {
        let days = (1.0 / self.updates_per_day.max(1e-9)).min(STAY_DAYS);
        (self.lookups as f64 * days).round().max(1.0) as u64
    }

    /// Bytes of what is looked up, each counted once.
    pub fn table_bytes(&self) -> u64 {
        match &self.data {
            TableData::Row { rows, row_bytes, .. } => rows.saturating_mul(*row_bytes),
            // A baseline has keys by a hash of 16 bytes.
            TableData::Key { keys, value_bytes, .. } => keys.saturating_mul(value_bytes.saturating_add(16)),
        }
    }
}

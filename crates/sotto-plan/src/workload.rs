//! Workloads to plan for: a table, its clients, the link, machines and prices, and trust.

use crate::PlanError;
use serde::Serialize;
use sotto_db::ingest::SurveyedData;
use sotto_layers::keyword::KeyStats;

/// Days that a client stays: one-time downloads are spread over the lookups of this many days.
pub const STAY_DAYS: f64 = 30.0;

/// Contents of a table.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "asked_by", rename_all = "kebab-case")]
pub enum TableData {
    /// Rows that are requested by number.
    Row {
        /// Number of rows.
        rows: u64,
        /// Bytes of each stored row.
        row_bytes: u64,
        /// Headroom: rows that updates will be able to add.
        room: u64,
    },
    /// Values that are requested by key.
    Key {
        /// Number of keys.
        keys: u64,
        /// Bytes of the longest value.
        value_bytes: u64,
        /// Statistics of keys and values that sizes follow from.
        #[serde(skip)]
        counted: Box<KeyStats>,
    },
}

impl TableData {
    /// Contents of a table as a survey of its source found them, with headroom for updates where rows
    /// are requested by number.
    pub fn of_survey(found: SurveyedData, room: u64) -> Self {
        match found {
            SurveyedData::Rows { rows, row_bytes } => TableData::Row { rows, row_bytes, room },
            SurveyedData::Keys(counted) => {
                TableData::Key { keys: counted.keys, value_bytes: counted.longest.into(), counted }
            }
        }
    }
}

/// Link between a client and its server.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NetworkLink {
    /// Speed to the client, in 10^6 bits per second.
    pub down_mbit: f64,
    /// Speed from the client, in 10^6 bits per second.
    pub up_mbit: f64,
    /// Round-trip time in milliseconds.
    pub round_trip_ms: f64,
}

/// Machine of a server, and prices.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Machine {
    /// Number of cores.
    pub cores: u32,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Dollars per hour for the whole machine.
    pub dollars_hour: f64,
    /// Dollars per 10^9 bytes sent.
    pub dollars_gb: f64,
}

/// Servers that clients have to trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ServerTrust {
    /// Clients trust no one: one operator sees everything that is sent.
    #[default]
    OneServer,
    /// Clients trust that two operators do not collude.
    TwoServers,
}

/// Cost that candidates are ranked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RankBy {
    /// Dollars per million lookups.
    #[default]
    Dollars,
    /// Latency under load.
    Latency,
    /// Bytes of a lookup, including its share of one-time downloads.
    Bytes,
    /// Core-seconds of a lookup.
    ServerTime,
    /// Seconds of an epoch of one client, computing and sending: see [`crate::Candidate::epoch_s`].
    Epoch,
}

impl RankBy {
    /// All rankings, with the names on the command line.
    pub const ALL: [(&'static str, RankBy); 5] = [
        ("dollars", RankBy::Dollars),
        ("latency", RankBy::Latency),
        ("bytes", RankBy::Bytes),
        ("server-time", RankBy::ServerTime),
        ("epoch", RankBy::Epoch),
    ];

    /// Name of the ranking on the command line.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, aim)| *aim == self).map_or("", |(name, _)| name)
    }
}

/// Workload to plan for.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Workload {
    /// Contents of the table.
    pub data: TableData,
    /// Largest number of rows, or keys, in a request, if it is for more than one.
    pub batch: Option<u16>,
    /// Number of epochs per day.
    pub updates_per_day: f64,
    /// Share of rows that an update changes.
    pub changed: f64,
    /// Number of clients.
    pub clients: u64,
    /// Number of requests that one client makes per day.
    pub lookups: u64,
    /// Requests per second of all clients together at peak; `None` for three times the mean.
    pub peak: Option<f64>,
    /// Link between clients and server.
    pub link: NetworkLink,
    /// Machine of the server.
    pub machine: Machine,
    /// Number of machines for the parts of the table; 1 for a whole table.
    pub machines: u32,
    /// Servers that clients trust.
    pub trust: ServerTrust,
    /// Whether rows must be verified, since servers may be malicious; otherwise rows are verified
    /// where that is cheap.
    pub verified: bool,
    /// Whether clients may learn nothing but the requested row.
    pub symmetric: bool,
    /// Largest latency under load, in milliseconds.
    pub most_latency_ms: Option<f64>,
    /// Largest number of bytes that a client may store.
    pub most_client_bytes: Option<u64>,
    /// Cost that candidates are ranked by.
    pub aim: RankBy,
}

/// Largest number of rows or keys.
pub const MAX_ROWS: u64 = 1 << 40;

/// Largest size of a row in bytes.
pub const MAX_ROW_BYTES: u64 = 1 << 30;

/// Largest number of requests of a client in a day.
const MAX_LOOKUPS: u64 = 1 << 30;

/// Largest memory of a machine in bytes.
const MAX_MEMORY_BYTES: u64 = 1 << 50;

impl Workload {
    /// Workload for a table with default values: clients that make 100 lookups a day on a link of
    /// 50 Mbit/s down and 10 up, a table that is updated once a day, two cores.
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

    /// Workload by which an encoder takes a scheme that nobody named: a client makes `lookups` in
    /// an epoch, the cost is [`RankBy::Epoch`], and the machine has the memory that it needs.
    pub fn of_epoch(data: TableData, lookups: u64) -> Self {
        let usual = Workload::usual(data);
        Workload {
            lookups: lookups.clamp(1, MAX_LOOKUPS),
            machine: Machine { memory_bytes: MAX_MEMORY_BYTES, ..usual.machine },
            aim: RankBy::Epoch,
            ..usual
        }
    }

    /// Checks that all values are within their limits.
    ///
    /// # Errors
    /// [`PlanError::Workload`] with the value and its limits.
    pub fn check(&self) -> Result<(), PlanError> {
        let count = |what, value: u64, least: u64, most: u64| {
            let why = || PlanError::workload(what, format!("is {value}, expected {least} to {most}"));
            if (least..=most).contains(&value) { Ok(()) } else { Err(why()) }
        };
        let real = |what, value: f64, least: f64, most: f64| {
            let why = || PlanError::workload(what, format!("is {value}, expected {least} to {most}"));
            if (least..=most).contains(&value) { Ok(()) } else { Err(why()) }
        };
        match &self.data {
            TableData::Row { rows, row_bytes, room } => {
                count("the number of rows", *rows, 1, MAX_ROWS)?;
                count("the headroom", *room, 0, MAX_ROWS)?;
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
        count("the number of lookups", self.lookups, 1, MAX_LOOKUPS)?;
        real("the rate at peak", self.peak(), 0.0, 1e9)?;
        real("the link down", self.link.down_mbit, 1e-3, 1e6)?;
        real("the link up", self.link.up_mbit, 1e-3, 1e6)?;
        real("the round trip", self.link.round_trip_ms, 0.0, 60_000.0)?;
        count("the number of cores", self.machine.cores.into(), 1, 4096)?;
        count("the memory", self.machine.memory_bytes, 1 << 20, MAX_MEMORY_BYTES)?;
        real("the price of an hour", self.machine.dollars_hour, 0.0, 1e6)?;
        real("the price of 10^9 bytes", self.machine.dollars_gb, 0.0, 1e6)?;
        count("the number of machines", self.machines.into(), 1, 1 << 16)?;
        real("the longest latency", self.most_latency_ms.unwrap_or(1.0), 0.0, 1e9)
    }

    /// Requests per second at peak.
    pub fn peak(&self) -> f64 {
        let mean = self.clients as f64 * self.lookups as f64 / 86_400.0;
        self.peak.unwrap_or(3.0 * mean)
    }

    /// Number of requests that a client makes per epoch; an epoch that never ends lasts as long as
    /// the client stays.
    pub fn lookups_per_epoch(&self) -> u64 {
        let days = (1.0 / self.updates_per_day.max(1e-9)).min(STAY_DAYS);
        (self.lookups as f64 * days).round().max(1.0) as u64
    }

    /// Bytes of the data that is looked up, each counted once.
    pub fn table_bytes(&self) -> u64 {
        match &self.data {
            TableData::Row { rows, row_bytes, .. } => rows.saturating_mul(*row_bytes),
            // A baseline names keys by a hash of 16 bytes.
            TableData::Key { keys, value_bytes, .. } => keys.saturating_mul(value_bytes.saturating_add(16)),
        }
    }
}

//! The arguments of a workload, with the table from a file or from its size alone.

use super::number::{bytes, count};
use crate::exit_mapping;
use crate::failure::{Failure, Result};
use crate::screen::Screen;
use crate::verbs::encode::source::SourceArgs;
use sotto_db::ingest::{BandPolicy, SurveyedData, survey};
use sotto_layers::keyword::{BuildOptions, KeyForm, KeyStats};
use sotto_plan::{Machine, NetworkLink, RankBy, ServerTrust, TableData, Workload};
use sotto_prg::PublicSeed;

/// What is planned for.
#[derive(Debug, clap::Args)]
pub(super) struct WorkloadArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Number of rows, or keys, of --row-bytes each, in place of a file
    #[arg(long, value_name = "N", value_parser = count, conflicts_with = "input", requires = "row_bytes")]
    rows: Option<u64>,
    /// Plan a keyword table of --rows keys
    #[arg(long, requires = "rows")]
    keyed: bool,
    /// Maximum number of rows, or keys, in a request
    #[arg(long, value_name = "B", value_parser = clap::value_parser!(u16).range(1..=4096))]
    batch: Option<u16>,
    /// Require that clients learn only the requested row
    #[arg(long)]
    symmetric: bool,
    /// Require row proofs, against servers that answer wrongly [default: where they are cheap]
    #[arg(long)]
    row_proofs: bool,
    /// Number of epochs per day
    #[arg(long, value_name = "N", default_value = "1")]
    updates_per_day: f64,
    /// Share of rows that an update changes, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0.01")]
    changed_share: f64,
    /// Number of clients
    #[arg(long, value_name = "N", value_parser = count, default_value = "1000")]
    clients: u64,
    /// Requests per client and day
    #[arg(long, value_name = "N", value_parser = count, default_value = "100")]
    lookups: u64,
    /// Requests per second of all clients at peak [default: three times the mean]
    #[arg(long, value_name = "N")]
    peak_rps: Option<f64>,
    /// Download rate of clients, in Mbit/s
    #[arg(long, value_name = "MBIT", default_value = "50")]
    down_mbit: f64,
    /// Upload rate of clients, in Mbit/s
    #[arg(long, value_name = "MBIT", default_value = "10")]
    up_mbit: f64,
    /// Round-trip time between client and server, in milliseconds
    #[arg(long, value_name = "MS", default_value = "30")]
    rtt_ms: f64,
    /// Cores of a server machine [default: those of this machine]
    #[arg(long, value_name = "N")]
    cores: Option<u32>,
    /// Memory of a server machine
    #[arg(long, value_name = "BYTES", value_parser = bytes, default_value = "8GiB")]
    memory: u64,
    /// Price of a machine, in dollars per hour
    #[arg(long, value_name = "DOLLARS", default_value = "0.08")]
    dollars_per_hour: f64,
    /// Price of traffic that a server sends, in dollars per 10^9 bytes
    #[arg(long, value_name = "DOLLARS", default_value = "0.09")]
    dollars_per_gb: f64,
    /// Number of machines to cut the table over; more than one is modeled, not measured
    #[arg(long, value_name = "N", default_value = "1")]
    machines: u32,
    /// Trust in operators: one-server, or two-servers, whose operators do not collude
    #[arg(long, default_value = "one-server", value_parser = trust)]
    trust: ServerTrust,
    /// Maximum median time of a request at peak, in milliseconds [default: none]
    #[arg(long, value_name = "MS")]
    max_latency_ms: Option<f64>,
    /// Maximum bytes that a client stores [default: no limit]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    client_memory: Option<u64>,
    /// Cost to rank by: dollars, latency, bytes or server-time
    #[arg(long, value_name = "GOAL", default_value = "dollars", value_parser = rank_by)]
    rank_by: RankBy,
}

fn trust(name: &str) -> std::result::Result<ServerTrust, String> {
    match name {
        "one-server" => Ok(ServerTrust::OneServer),
        "two-servers" => Ok(ServerTrust::TwoServers),
        _ => Err("expected one-server or two-servers".to_owned()),
    }
}

fn rank_by(name: &str) -> std::result::Result<RankBy, String> {
    let known = || RankBy::ALL.map(|(name, _)| name).join(", ");
    let found = RankBy::ALL.iter().find(|(known, _)| *known == name);
    found.map(|(_, rank_by)| *rank_by).ok_or_else(|| format!("expected one of {}", known()))
}

impl WorkloadArgs {
    /// The workload. Planning checks its figures.
    pub(super) fn workload(&self, screen: Screen) -> Result<Workload> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let cores = self.cores.unwrap_or(u32::try_from(cores).unwrap_or(u32::MAX));
        let data = match self.rows {
            Some(rows) => self.counted(rows)?,
            None => self.read(screen)?,
        };
        Ok(Workload {
            data,
            batch: self.batch,
            updates_per_day: self.updates_per_day,
            changed: self.changed_share,
            clients: self.clients,
            lookups: self.lookups,
            peak: self.peak_rps,
            link: NetworkLink {
                down_mbit: self.down_mbit,
                up_mbit: self.up_mbit,
                round_trip_ms: self.rtt_ms,
            },
            machine: Machine {
                cores,
                memory_bytes: self.memory,
                dollars_hour: self.dollars_per_hour,
                dollars_gb: self.dollars_per_gb,
            },
            machines: self.machines,
            trust: self.trust,
            verified: self.row_proofs,
            symmetric: self.symmetric,
            most_latency_ms: self.max_latency_ms,
            most_client_bytes: self.client_memory,
            aim: self.rank_by,
        })
    }

    /// The table from its size alone.
    fn counted(&self, rows: u64) -> Result<TableData> {
        let row_bytes = self.source.row_bytes().unwrap_or_default();
        if !self.keyed {
            return Ok(TableData::Row { rows, row_bytes: row_bytes as u64, room: self.source.headroom()? });
        }
        let width = u32::try_from(row_bytes).map_err(|_| Failure::usage("--row-bytes exceeds 2^30"))?;
        // Sizes do not depend on the seed, and nothing is hashed.
        let options = BuildOptions::new(KeyForm::Text, PublicSeed([0; 32]));
        let counted = KeyStats { options, keys: rows, shortest: width, longest: width };
        Ok(TableData::Key { keys: rows, value_bytes: width.into(), counted: Box::new(counted) })
    }

    /// The table as encoding would read it.
    fn read(&self, screen: Screen) -> Result<TableData> {
        let Some(input) = self.source.input() else {
            return Err(Failure::usage("neither a file nor --rows is given")
                .fix("give a file, or --rows N --row-bytes N"));
        };
        std::fs::metadata(input).map_err(|error| Failure::file("reading", input, &error))?;
        let options = self.source.options(None, BandPolicy::Never)?;
        let scratch =
            tempfile::tempdir().map_err(|error| Failure::file("making", &std::env::temp_dir(), &error))?;
        let bars = screen.bars();
        let watch = |at: sotto_db::Progress| bars.watch(None, at);
        let found = survey(input, &options, scratch.path(), &watch).map_err(exit_mapping::db)?;
        bars.finish();
        screen.say(self.source.description(found.lines))?;
        Ok(match found.table {
            SurveyedData::Rows { rows, row_bytes } => {
                TableData::Row { rows, row_bytes, room: self.source.headroom()? }
            }
            SurveyedData::Keys(counted) => {
                TableData::Key { keys: counted.keys, value_bytes: counted.longest.into(), counted }
            }
        })
    }
}

//! `sotto plan`: ranks every scheme and layout that fits a workload, with the cost of each, and
//! says why others do not fit.
//!
//! The workload comes from the command line and from a file, with numbers as people write them:
//! `1000000`, `1e6`, `2^20`, and `64MiB`. The plan is printed as tables that fit a terminal.

use crate::calibration;
use crate::failure::{Failure, FileContext, Result};
use crate::screen::{Report, Screen, grid, units};
use crate::source_args::{SchemeArg, SourceArgs, scheme};
use sotto_layers::keyword::{BuildOptions, KeyForm, KeyStats};
use sotto_plan::{
    Baseline, Candidate, Frontier, FrontierPoint, KeyChoice, Machine, NetworkLink, Plan as Planned, RankBy,
    SearchScope, ServerTrust, TableData, Workload,
};
use sotto_prg::PublicSeed;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLE: &str = "\
Bytes are exact, for the parameters that `sotto encode` would choose. Times are predicted from what `sotto \
bench machine` measured on this machine, or, without measurements, from each scheme's own count of its \
work; the plan says which. `sotto bench plan` shows the accuracy of predictions.

At peak, requests that arrive during a pass share the next pass, of at most 8 queries, as `sotto serve` \
does it (gated batch service): the wait is half a pass on average, and one pass at worst. Machines are \
added if one would be busy for more than 70 % of the time. Dollars cover core-seconds and bytes sent, at \
--dollars-per-hour and --dollars-per-gb; downloads that happen once are spread over 30 days of a client's \
lookups, and encoding over all lookups of an epoch.

--machines N cuts the table over N machines. These figures are modeled, not measured, and stand in columns \
of their own.

Example:
  sotto plan --rows 2^20 --row-bytes 256
  sotto plan --rows 1e6 --row-bytes 16 --keyed --lookups 5 --updates-per-day 24 --rank-by bytes
  sotto plan --rows 2^20 --row-bytes 256 --frontier
  sotto plan words.csv --value meaning --trust two-servers --out plan.json
  sotto encode words.csv --value meaning --out tables/planned --plan plan.json";

/// Arguments of `sotto plan`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Plan {
    #[command(flatten)]
    workload_args: WorkloadArgs,
    /// Consider this scheme only; `sotto schemes` lists them
    #[arg(long, value_parser = scheme)]
    scheme: Option<SchemeArg>,
    /// Show all layouts and named parameter sets, in place of the best of each scheme
    #[arg(long)]
    all: bool,
    /// Show which bytes, server time and encoding can be had for 1, 2, 10 and 1,000 lookups of a client in
    /// an epoch, in place of a plan
    #[arg(long, conflicts_with_all = ["all", "out"])]
    frontier: bool,
    /// File to write the plan to, for `sotto encode --plan`
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Plan {
    pub(crate) fn run(self, screen: Screen) -> Result<Report> {
        let (workload, read) = self.workload_args.workload(screen)?;
        let (calibration, times) = calibration::recall();
        let scope =
            SearchScope { only: self.scheme.map(SchemeArg::entry), all: self.all, ..SearchScope::default() };
        if self.frontier {
            let frontier = sotto_plan::frontier::frontier(&workload, scope, calibration.as_ref())?;
            return Ok(Report::new(read + &frontier_text(&frontier, &times), &frontier));
        }
        let plan = sotto_plan::plan(&workload, scope, calibration.as_ref())?;
        let mut text = read + &plan_text(&plan, &times);
        if let Some(path) = &self.out {
            let json = serde_json::to_string_pretty(&plan)
                .map_err(|error| Failure::internal(format!("cannot serialize a plan: {error}")))?;
            std::fs::write(path, json).doing("writing", path)?;
            text += &format!("\n\nnext: sotto encode ... --plan {}", path.display());
        }
        Ok(Report::new(text, &plan))
    }
}

/// What is planned for.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkloadArgs {
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
    /// The workload, and the line that says how its file was read. Planning checks its figures.
    pub(crate) fn workload(&self, screen: Screen) -> Result<(Workload, String)> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let cores = self.cores.unwrap_or(u32::try_from(cores).unwrap_or(u32::MAX));
        let (data, read) = match self.rows {
            Some(rows) => (self.counted(rows)?, String::new()),
            None => self.read(screen)?,
        };
        let workload = Workload {
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
        };
        Ok((workload, read))
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
    fn read(&self, screen: Screen) -> Result<(TableData, String)> {
        let Some(input) = self.source.input() else {
            return Err(Failure::usage("neither a file nor --rows is given")
                .fix("give a file, or --rows N --row-bytes N"));
        };
        let (data, lines) = self.source.survey(input, None, screen)?;
        Ok((data, self.source.description(lines) + "\n"))
    }
}

/// Parses a count: digits, a power, or digits with an exponent.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    let none = || format!("{text:?} is not a count, such as 1000000, 1e6 or 2^20");
    let plain = text.replace('_', "");
    if let Some((base, power)) = plain.split_once('^') {
        let (base, power) = (base.parse::<u64>().ok(), power.parse::<u32>().ok());
        return base.zip(power).and_then(|(base, power)| base.checked_pow(power)).ok_or_else(none);
    }
    if let Some((digits, zeros)) = plain.split_once(['e', 'E']) {
        let (digits, zeros) = (digits.parse::<u64>().ok(), zeros.parse::<u32>().ok());
        let scaled =
            digits.zip(zeros).and_then(|(digits, zeros)| digits.checked_mul(10u64.checked_pow(zeros)?));
        return scaled.ok_or_else(none);
    }
    plain.parse().map_err(|_| none())
}

/// Units of bytes.
const UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1000),
    ("B", 1),
];

/// Parses bytes: a count, with or without a unit.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let found = UNITS.iter().find_map(|(unit, size)| Some((text.strip_suffix(unit)?.trim_end(), *size)));
    let (number, size) = found.unwrap_or((text, 1));
    let read = count(number).ok().and_then(|number| number.checked_mul(size));
    read.ok_or_else(|| format!("{text:?} is not a number of bytes, such as 1000, 64MiB or 8GiB"))
}

/// Formats seconds for a person.
fn time(seconds: f64) -> String {
    units::time(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

fn dollars(dollars: f64) -> String {
    if dollars < 0.01 { format!("{dollars:.4}") } else { units::digits(dollars) }
}

/// A frontier as text.
fn frontier_text(frontier: &Frontier, times: &str) -> String {
    let columns = ">lookups | scheme | for | >bytes of each | >once | >server | >encoding";
    let row = |point: &FrontierPoint| {
        vec![
            units::count(point.lookups),
            point.scheme.clone(),
            point.parameters.clone(),
            units::bytes(point.lookup_bytes as u64),
            units::bytes(point.once_bytes),
            time(point.server_s),
            point.encode_s.map_or_else(|| "-".to_owned(), time),
        ]
    };
    let table = grid::grid(columns, frontier.points.iter().map(row));
    let about = "A lookup's bytes include its share of what is sent once in an epoch. Schemes that are left out cost more \
                 in one of bytes, server time and encoding, and no less in the others.";
    [table, about.to_owned(), grid::facts([("times", times.to_owned())])].join("\n\n")
}

/// The whole plan as text.
fn plan_text(plan: &Planned, times: &str) -> String {
    let mut parts = vec![table(plan)];
    if !plan.offers.is_empty() {
        parts.push(costs(plan));
        parts.push(keeps(plan));
        if plan.workload.machines > 1 {
            parts.push(modeled(plan));
        }
        parts.push(format!("what servers learn\n\n{}", leaks(plan)));
    }
    let baselines = plan.baselines.iter().map(|line| (line.name.as_str(), baseline(line)));
    parts.push(format!("without private lookups\n\n{}", grid::facts(baselines)));
    if !plan.refused.is_empty() {
        let why = plan.refused.iter().map(|refused| (refused.scheme, refused.why.clone()));
        parts.push(format!("excluded schemes\n\n{}", grid::facts(why)));
    }
    parts.push(grid::facts([("times", times.to_owned()), ("prices", prices(plan))]));
    parts.push(match plan.offers.first() {
        Some(best) => format!("by {}: {}", plan.workload.aim.name(), named(best)),
        None => "no scheme fits, for the reasons above".to_owned(),
    });
    parts.join("\n\n")
}

/// The table that is planned for, in a line.
fn table(plan: &Planned) -> String {
    let table = match &plan.workload.data {
        TableData::Row { rows, row_bytes, .. } => {
            format!("{} rows of {row_bytes} bytes", units::count(*rows))
        }
        TableData::Key { keys, value_bytes, .. } => {
            format!("{} keys with values of up to {value_bytes} bytes", units::count(*keys))
        }
    };
    let together =
        plan.workload.batch.map(|max_batch| format!(", up to {max_batch} per request")).unwrap_or_default();
    format!(
        "{table} ({}){together}; {} clients with {} requests per day each, {} per second at peak",
        units::bytes(plan.workload.table_bytes()),
        units::count(plan.workload.clients),
        units::count(plan.workload.lookups),
        units::digits(plan.workload.peak()),
    )
}

/// The name of a scheme with the goal of its parameters.
fn named(offer: &Candidate) -> String {
    let choice = &offer.choice;
    match &choice.set {
        Some(set) => format!("{} {set}", choice.scheme),
        None => format!("{} for {}", choice.scheme, choice.goal),
    }
}

fn costs(plan: &Planned) -> String {
    let columns =
        "scheme | >up | >down | >once | >update | >server | >latency | >peak p50 | >peak p99 | >$/10^6";
    let row = |offer: &Candidate| {
        let once = offer.once_bytes.saturating_add(offer.keys_bytes).saturating_add(offer.hints_bytes);
        vec![
            offer.choice.scheme.clone(),
            units::bytes(offer.up_bytes),
            units::bytes(offer.down_bytes),
            units::bytes(once),
            units::bytes(offer.update_bytes.saturating_add(offer.hints_bytes)),
            time(offer.server_s),
            time(offer.latency_s),
            time(offer.loaded_p50_s),
            time(offer.loaded_p99_s),
            dollars(offer.dollars),
        ]
    };
    grid::grid(columns, plan.offers.iter().map(row))
}

fn keeps(plan: &Planned) -> String {
    let columns =
        "scheme | for | >memory | >disk | >client | >machines | >security | >fails | proofs | keys in";
    let row = |offer: &Candidate| {
        let state = if offer.client_state { " *" } else { "" };
        vec![
            offer.choice.scheme.clone(),
            offer.choice.set.clone().unwrap_or_else(|| offer.choice.goal.clone()),
            units::bytes(offer.memory_bytes),
            units::bytes(offer.disk_bytes),
            format!("{}{state}", units::bytes(offer.client_bytes)),
            format!("{}", offer.replicas.saturating_mul(offer.servers as u64)),
            offer.security_bits.map_or_else(|| "any".to_owned(), |bits| format!("{bits:.0} bits")),
            offer.failure_log2.map_or_else(|| "never".to_owned(), |log2| format!("2^{log2:.0}")),
            if offer.choice.verified { "yes" } else { "no" }.to_owned(),
            match offer.choice.keys {
                None => "-".to_owned(),
                Some(KeyChoice::Sums) => "sums".to_owned(),
                Some(KeyChoice::Rows { probes, slots }) => format!("{probes} x {slots}"),
            },
        ]
    };
    let text = grid::grid(columns, plan.offers.iter().map(row));
    let states = plan.offers.iter().any(|offer| offer.client_state);
    if states { format!("{text}\n* state, which must not be lost or copied") } else { text }
}

fn modeled(plan: &Planned) -> String {
    let columns = "scheme | >memory each | >server | >latency | >partials | >$/10^6 | of";
    let row = |offer: &Candidate| {
        let cut = offer.modeled?;
        Some(vec![
            offer.choice.scheme.clone(),
            units::bytes(cut.memory_bytes),
            time(cut.server_s),
            time(cut.latency_s),
            units::bytes(cut.partials_bytes),
            dollars(cut.dollars),
            if cut.from_parts { "measured parts" } else { "equal parts" }.to_owned(),
        ])
    };
    format!(
        "modeled, not measured: the table cut over {} machines\n\n{}",
        plan.workload.machines,
        grid::grid(columns, plan.offers.iter().filter_map(row))
    )
}

/// What servers learn, grouped, since many schemes have the same leakage.
fn leaks(plan: &Planned) -> String {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for offer in &plan.offers {
        let leaks_text: Vec<&str> = offer.leaks.iter().map(|leak| leak.0.as_str()).collect();
        let (leaks_text, name) = (leaks_text.join("; "), offer.choice.scheme.as_str());
        match groups.iter_mut().find(|(known, _)| *known == leaks_text) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => groups.push((leaks_text, vec![name])),
        }
    }
    let lines = groups.iter().map(|(leaks_text, names)| ("", format!("{leaks_text}: {}", names.join(", "))));
    grid::facts(lines)
}

fn baseline(line: &Baseline) -> String {
    let once = if line.once_bytes > 0 {
        format!("{} once, {} per update, ", units::bytes(line.once_bytes), units::bytes(line.update_bytes))
    } else {
        format!("{} up, {} down, ", units::bytes(line.up_bytes), units::bytes(line.down_bytes))
    };
    let latency = if line.latency_s > 0.0 { time(line.latency_s) } else { "no time".to_owned() };
    format!(
        "{once}{latency} per request, $ {} per 10^6; servers learn: {}",
        dollars(line.dollars),
        line.leaks
    )
}

fn prices(plan: &Planned) -> String {
    let (machine, link) = (&plan.workload.machine, &plan.workload.link);
    format!(
        "$ {} per hour for {} cores and {}; $ {} per 10^9 bytes sent; {} Mbit/s down, {} up, {} ms round \
         trip; clients as fast as a core of the server",
        machine.dollars_hour,
        machine.cores,
        units::bytes(machine.memory_bytes),
        machine.dollars_gb,
        link.down_mbit,
        link.up_mbit,
        link.round_trip_ms
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_digits_powers_or_have_an_exponent() {
        for (text, value) in
            [("7", 7), ("1_000", 1000), ("2^20", 1 << 20), ("1e6", 1_000_000), ("25E3", 25_000)]
        {
            assert_eq!(count(text), Ok(value));
        }
        for text in ["", "-1", "1.5", "2^", "^2", "2^64", "1e20", "e6", "many"] {
            assert!(count(text).is_err(), "{text}");
        }
    }

    #[test]
    fn bytes_have_units() {
        for (text, value) in
            [("9", 9), ("9B", 9), ("2KiB", 2048), ("2 KB", 2000), ("2^3GiB", 8 << 30), ("1e2MB", 100_000_000)]
        {
            assert_eq!(bytes(text), Ok(value));
        }
        for text in ["", "GiB", "1.5GiB", "9e18TiB", "1 XB"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}

//! `sotto demo`: a real table, served and looked up privately over the network, end to end.
//!
//! | module | contents |
//! |---|---|
//! | [`setup`] | encoding for both schemes, serving, opening: the parts of an operator and a user |
//! | [`lookups`] | lookups, private ones compared with the data in the clear; many clients at once |
//! | [`log`] | a transparency log: a name looked up, its entry proved |
//! | `sample` | that log's entries, each verified against the hash that the log published |
//!
//! It prints a paragraph per step, in a hundred columns, readable without color.

mod log;
mod lookups;
mod sample;
mod setup;

use crate::failure::{Failure, Result};
use crate::lab::demo::log::LogReport;
use crate::lab::demo::lookups::{AddressLookup, Cost, Countries, Outcome, SchemeRun};
use crate::lab::demo::setup::{BLOCK, DemoScheme, DemoServer, DemoTables, HINTED, KEYED, PlainRead};
use crate::screen::progress::ProgressLine;
use crate::screen::{Report, Screen, grid, units};
use crate::table_summary::{StageSeconds, stage_seconds, stages_text};
use crate::verbs::encode::job::EncodeOutcome;
use schemars::JsonSchema;
use serde::Serialize;
use sotto_client::Table;
use sotto_core::{Costs, TableShape};
use sotto_db::EncodeSummary;
use sotto_db::inspect::SchemeInfo;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const EXAMPLE: &str = "\
Encodes a table of 2^24 rows, one per block of 256 IPv4 addresses, with the country that each is \
registered in; serves it on loopback; looks up a few addresses privately over HTTP, and compares every \
answer with the plaintext data. It does so with two schemes: clients of one fetch a hint, clients of the \
other register keys. The same lookup follows without PIR: by downloading the table, and with a plaintext \
query. The data is from the regional registries (NRO, CC BY 4.0) and has known errors. The second part \
uses a Certificate Transparency log: it looks up which entry has a name, and a proof that the entry is in \
the log, without revealing the name.

Example:
  sotto demo
  sotto demo --ip 1.2.3.4,5.6.7.8 --dir tables/ip-country";

/// A table of 1 GiB for comparison, for which private lookups pay off.
const LARGER: TableShape = TableShape::new(1 << 24, 64, setup::LOOKUPS);

/// Time for which many clients make lookups.
const MANY_CLIENTS_SPAN: Duration = Duration::from_secs(1);

/// Arguments of `sotto demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Demo {
    /// More addresses to look up, separated by commas
    #[arg(long = "ip", value_name = "A.B.C.D", value_delimiter = ',')]
    addresses: Vec<Ipv4Addr>,
    /// File of IP ranges and countries [default: data/ip-country/asn-country-ipv4-num.csv.gz of the
    /// project]
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// More domain names to look up in the log, separated by commas
    #[arg(long = "domain", value_name = "NAME", value_delimiter = ',')]
    names: Vec<String>,
    /// Folder of the log's entry bundles, hash tiles and root [default: data/ct/navigli2025h2 of
    /// the project]
    #[arg(long, value_name = "DIR")]
    log: Option<PathBuf>,
    /// Directory in which to keep the encoded table, with others next to it as DIR-fspiral and
    /// DIR-names [default: temporary]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Threads of one pass over the table
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..))]
    threads: u16,
    /// Number of concurrent clients
    #[arg(long, value_name = "N", default_value = "8", value_parser = clap::value_parser!(u16).range(1..=64))]
    clients: u16,
}

impl Demo {
    pub(crate) fn run(self, screen: Screen) -> Result<Report> {
        let data = lookups::find_data(self.data.as_deref())?;
        let plain = Countries::read(&data)?;
        let sample = self.sample()?;
        let narrator = Narrator { screen };
        narrator.data(&data, plain.len())?;
        let encoded = DemoTables::new(&self, &data, screen)?;
        narrator.encoded(&encoded.hinted)?;
        narrator.encoded_too(&encoded.keyed)?;
        let stage = DemoServer::serve(encoded, self.threads.into())?;
        narrator.served(&stage, self.threads)?;
        let mut table = stage.hinted(screen.bars())?;
        narrator.opened(&table)?;

        let lookups = lookups::run(&mut table, &self.addresses(), &plain)?;
        narrator.lookups(&lookups)?;
        let reading = stage.read_pass()?;
        narrator.scan(&lookups, reading)?;

        let mut keyed = stage.keyed(screen.bars())?;
        let again = lookups::run(&mut keyed, &self.addresses(), &plain)?;
        let larger = LargeTableCost { hinted: larger(HINTED)?, keyed: larger(KEYED)? };
        let both = [SchemeRun::new(HINTED, &table, lookups), SchemeRun::new(KEYED, &keyed, again)];
        let [hinted, keyed] = &both;
        narrator.side_by_side(&both, &larger)?;

        let example = hinted.lookups.first().ok_or_else(|| Failure::internal("no address is looked up"))?;
        let baselines = baselines(&plain, example)?;
        let source_bytes = std::fs::metadata(&data).map_or(0, |file| file.len());
        narrator.compare(&both, &baselines, source_bytes)?;

        let clients =
            (0..self.clients).map(|_| stage.hinted(ProgressLine::quiet())).collect::<Result<Vec<_>>>()?;
        let many = lookups::run_many(clients, table.catalog().rows, stage.admin(), MANY_CLIENTS_SPAN)?;
        narrator.many_clients(&many, &hinted.lookups)?;
        let log = self.log(sample, stage.scratch(), screen)?;
        let json = DemoReport {
            server: stage.url(),
            hinted: TableRun::new(&stage.encoded.hinted, hinted),
            keyed: TableRun::new(&stage.encoded.keyed, keyed),
            scan: ScanReport {
                bytes: reading.bytes,
                pass_ms: hinted.pass.as_secs_f64() * 1e3,
                read_ms: reading.time.as_secs_f64() * 1e3,
                of_read_ratio: reading.share_of(hinted.pass),
            },
            in_the_clear: baselines.clear,
            download: baselines.download,
            larger: LargerReport {
                table_bytes: LARGER.rows * LARGER.row_bytes,
                hinted: CostReport::from(&larger.hinted),
                keyed: CostReport::from(&larger.keyed),
            },
            crowd: many,
            log: log.report(),
        };
        let wrong = hinted.check().and_then(|()| keyed.check()).and_then(|()| log.check()).err();
        Ok(Report::new(narrator.end(&stage, self.dir.as_deref()), &json).but(wrong))
    }

    /// The well-known addresses, the requested ones, and the first once more, to show that queries
    /// for the same address differ.
    fn addresses(&self) -> Vec<Ipv4Addr> {
        let mut addresses = lookups::WELL_KNOWN.to_vec();
        addresses.extend(&self.addresses);
        let mut listed = std::collections::HashSet::new();
        addresses.retain(|address| listed.insert(*address));
        addresses.extend(lookups::WELL_KNOWN.first());
        addresses
    }
}

/// A demonstration: its lookups, and what they cost.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DemoReport<'a> {
    /// Address of the server.
    server: String,
    /// The table of a scheme with hints.
    hinted: TableRun<'a>,
    /// The table of a scheme with evaluation keys.
    keyed: TableRun<'a>,
    /// A pass over the table, and how fast this machine reads it.
    scan: ScanReport,
    /// Cost of a query in the clear.
    in_the_clear: Cost,
    /// Cost of downloading the table.
    download: Cost,
    /// Cost in a larger table, by its parameters.
    larger: LargerReport,
    /// Many clients at once.
    crowd: Outcome,
    /// Lookups in a transparency log.
    log: LogReport<'a>,
}

/// An encoded table, and lookups in it.
#[derive(Serialize, JsonSchema)]
struct TableRun<'a> {
    encode: &'a EncodeSummary,
    /// What the scheme says of its parameters.
    scheme: &'a SchemeInfo,
    /// Seconds of each stage of encoding.
    stages_s: StageSeconds,
    /// Public key of the publisher.
    public_key: String,
    #[serde(flatten)]
    run: &'a SchemeRun,
}

/// A pass over a table, and how fast this machine reads it.
#[derive(Serialize, JsonSchema)]
struct ScanReport {
    /// Bytes that a pass reads.
    bytes: u64,
    pass_ms: f64,
    /// Time to read as many bytes.
    read_ms: f64,
    /// The time to read, over that of a pass.
    of_read_ratio: f64,
}

/// Costs in a larger table.
#[derive(Serialize, JsonSchema)]
struct LargerReport {
    table_bytes: u64,
    hinted: CostReport,
    keyed: CostReport,
}

/// Bytes of a client.
#[derive(Serialize, JsonSchema)]
struct CostReport {
    /// Bytes downloaded once for each epoch.
    artifact_bytes: u64,
    /// Bytes of keys registered once.
    keys_bytes: u64,
    query_bytes: u64,
    answer_bytes: u64,
}

/// The cost of the same lookup without privacy, and without a server.
struct Baselines {
    clear: Cost,
    download: Cost,
    /// Block that a query in the clear reveals to the server.
    revealed: String,
}

/// The cost of private lookups in [`LARGER`], by its parameters.
struct LargeTableCost {
    hinted: Costs,
    keyed: Costs,
}

/// Finds data: at the given path, or under the current directory, the command's own, or any above.
fn find(path: Option<&Path>, default: &str, is_there: fn(&Path) -> bool) -> Option<PathBuf> {
    if let Some(path) = path {
        return Some(path.to_owned());
    }
    if is_there(Path::new(default)) {
        return Some(default.into());
    }
    let starts = [std::env::current_dir(), std::env::current_exe()].into_iter().flatten();
    starts
        .flat_map(|start| start.ancestors().map(|up| up.join(default)).collect::<Vec<_>>())
        .find(|path| is_there(path))
}

fn baselines(plain: &Countries, example: &AddressLookup) -> Result<Baselines> {
    let failed = |error| Failure::internal(format!("a baseline over loopback failed: {error}"));
    let table = Arc::new(plain.table());
    let row = u32::from(example.address) / BLOCK;
    let (clear, value) = lookups::in_the_clear(&table, row, 2).map_err(failed)?;
    let first = Ipv4Addr::from(row * BLOCK);
    // Zero bytes stand for an address without a country.
    if value != plain.of(first).unwrap_or_default() {
        return Err(Failure::internal("the plaintext query and the data give different answers"));
    }
    let download = lookups::download(&table).map_err(failed)?;
    let revealed = format!("{first}/24");
    Ok(Baselines { clear, download, revealed })
}

fn larger(scheme: DemoScheme) -> Result<Costs> {
    let entry = scheme.entry()?;
    let report = (entry.select)(&LARGER).and_then(|params| (entry.report)(&params));
    report.map(|report| report.costs).map_err(Failure::from)
}

impl<'a> TableRun<'a> {
    fn new(done: &'a EncodeOutcome, run: &'a SchemeRun) -> Self {
        let (stages_s, public_key) = (stage_seconds(&done.stages), done.public_key.to_string());
        TableRun { encode: &done.summary, scheme: &done.scheme, stages_s, public_key, run }
    }
}

impl From<&Costs> for CostReport {
    fn from(costs: &Costs) -> Self {
        let Costs { artifact_bytes, keys_bytes, query_bytes, answer_bytes, .. } = *costs;
        CostReport { artifact_bytes, keys_bytes, query_bytes, answer_bytes }
    }
}

/// The median of some durations.
pub(crate) fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<_> = times.collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Prints the steps of the demo.
#[derive(Clone, Copy)]
struct Narrator {
    screen: Screen,
}

impl Narrator {
    fn data(self, path: &Path, ranges: usize) -> Result<()> {
        self.screen.print_text(
            "In which country is an IPv4 address registered? Looked up without revealing the address.\n",
        )?;
        self.screen.print_text(format!(
            "Data       {} ({} ranges)\n           Statistics of the regional internet registries, published by the \
             Number Resource\n           Organization (nro.net) under CC BY 4.0. It has known errors.",
            path.display(),
            units::count(ranges as u64)
        ))
    }

    fn encoded(self, done: &EncodeOutcome) -> Result<()> {
        let (took, stages) = (units::time(done.took), stages_text(&done.stages));
        let (done, scheme) = (&done.summary, &done.scheme);
        self.screen.print_text(format!(
            "Encode     {} rows of {} bytes, one per /24 block of addresses, in {}\n           \
             ({})\n           \
             {}:\n           matrix of {} x {} bytes, image of {}\n           \
             security {} ({})\n           a lookup fails with probability {}",
            units::count(done.rows),
            done.row_bytes,
            took,
            stages,
            scheme.title,
            units::count(done.record_bytes),
            units::count(done.records),
            units::bytes(done.image_bytes),
            units::security(scheme.security_bits),
            scheme.security_model,
            units::at_most(scheme.failure_log2),
        ))
    }

    fn encoded_too(self, done: &EncodeOutcome) -> Result<()> {
        let (summary, scheme) = (&done.summary, &done.scheme);
        self.screen.print_text(format!(
            "           and again, in {}, for {}:\n           \
             {} records of {} bytes, image of {}; security {}, a lookup fails with probability {}",
            units::time(done.took),
            scheme.title,
            units::count(scheme.records),
            units::count(scheme.record_bytes),
            units::bytes(summary.image_bytes),
            units::security(scheme.security_bits),
            units::at_most(scheme.failure_log2),
        ))
    }

    fn served(self, stage: &DemoServer, threads: u16) -> Result<()> {
        let threads = if threads == 1 { "one thread".to_owned() } else { format!("{threads} threads") };
        self.screen.print_text(format!("Serve      {} on {threads}", stage.url()))
    }

    fn opened(self, table: &Table) -> Result<()> {
        let stats = table.stats();
        self.screen.print_text(format!(
            "Open       catalog {}, hint {} once, in {}; signed by the pinned key,\n           {}\n",
            units::bytes(stats.catalog.down),
            units::bytes(stats.artifacts.down),
            units::time(stats.opening),
            table.session().public_key(),
        ))
    }

    fn lookups(self, lookups: &[AddressLookup]) -> Result<()> {
        let columns =
            "address | answer | correct | >client ms | >server ms | >round trip ms | >bytes up | >bytes down";
        let rows = lookups.iter().map(|lookup| {
            let answer = if lookup.answer.is_empty() { "(unassigned)" } else { &lookup.answer };
            let correct = if lookup.right { "yes".to_owned() } else { format!("NO: {:?}", lookup.expected) };
            let first = [lookup.address.to_string(), answer.to_owned(), correct];
            first.into_iter().chain(lookup.spent.cells()).collect()
        });
        self.screen.print_text(grid::grid(columns, rows))?;
        for lookup in lookups.iter().filter(|lookup| lookup.mixed) {
            self.screen.print_text(format!(
                " {}: its block is split between countries; the table has the country of its first address",
                lookup.address
            ))?;
        }
        let shown = lookups.first().map_or(0, |lookup| lookup.spent.query_prefix.len() / 2);
        self.screen.print_text(format!("\nWhat the server sees of each query (first {shown} bytes):\n"))?;
        for lookup in lookups {
            let address = lookup.address.to_string();
            self.screen.print_text(format!("   {address:<16} {}", lookup.spent.query_prefix))?;
        }
        self.screen.print_text(
            "Two queries for the same address have nothing in common, and all queries have the same size.\n",
        )
    }

    fn scan(self, lookups: &[AddressLookup], reading: PlainRead) -> Result<()> {
        let pass = median(lookups.iter().map(|lookup| lookup.spent.pass));
        self.screen.print_text(format!(
            "The server reads the whole table ({}) for every query; otherwise it would learn which part matters:\n\
             in {}, at {} GB/s. Only reading it takes {} on one thread ({} GB/s), {} % of that time.\n",
            units::bytes(reading.bytes),
            units::time(pass),
            units::digits(reading.rate(pass)),
            units::time(reading.time),
            units::digits(reading.rate(reading.time)),
            units::digits(100.0 * reading.share_of(pass)),
        ))
    }

    fn side_by_side(self, both: &[SchemeRun; 2], larger: &LargeTableCost) -> Result<()> {
        let columns = "scheme | >correct | >hint | >keys | >query | >answer | >100 lookups | >open ms | >client ms | >server ms";
        let rows = both.iter().map(|run| {
            let right = run.lookups.iter().filter(|lookup| lookup.right).count();
            let mut row = vec![run.scheme.to_owned(), format!("{right} of {}", run.lookups.len())];
            let hundred = run.once_bytes() + 100 * (run.up + run.down);
            let bytes = [run.once.artifact_bytes, run.once.keys_bytes, run.up, run.down, hundred];
            row.extend(bytes.map(|n| if n == 0 { "-".to_owned() } else { units::bytes(n) }));
            row.extend([run.opening, run.client, run.pass].map(units::millis));
            row
        });
        self.screen.print_text(
            "The same addresses with two schemes, from tables with the same rows on the same server:\n",
        )?;
        self.screen.print_text(grid::grid(columns, rows))?;
        let line = |costs: &Costs| {
            let once = costs.artifact_bytes + costs.keys_bytes;
            [units::bytes(once), units::bytes(costs.query_bytes + costs.answer_bytes)]
        };
        let ([hint, each], [keys, keyed_each]) = (line(&larger.hinted), line(&larger.keyed));
        let [hinted, keyed] = both.each_ref().map(|run| run.scheme);
        self.screen.print_text(format!(
            "\nA hint is fetched for every epoch and makes answers cheap; keys are uploaded once and are \
             valid for\n             all epochs. By its parameters a table of 1 GiB (2^24 rows of 64 \
             bytes) takes {hint} once and {each}\n\
             per lookup with {hinted}, {keys} once and {keyed_each} per lookup with {keyed}.\n"
        ))
    }

    fn compare(self, both: &[SchemeRun; 2], baselines: &Baselines, source: u64) -> Result<()> {
        let columns = "way | >up | >down | >once | >1 lookup | >100 lookups | >ms | server learns";
        let row = |name: &str, up: u64, down: u64, once: u64, time, learns: &str| {
            let each = up + down;
            let mut row = vec![name.to_owned()];
            row.extend([up, down, once, once + each, once + 100 * each].map(units::bytes));
            row.extend([units::millis(time), learns.to_owned()]);
            row
        };
        let private = both.iter().map(|run| {
            row(run.scheme, run.up, run.down, run.once_bytes(), run.trip, "that a client makes a lookup")
        });
        let Baselines { clear, download, revealed } = baselines;
        let others = [
            row("download", 0, 0, download.down, download.time, "that a client has the table"),
            row("plaintext", clear.up, clear.down, 0, clear.time, revealed),
        ];
        self.screen.print_text("The same lookup, four ways (over loopback, HTTP headers not counted):\n")?;
        self.screen.print_text(grid::grid(columns, private.chain(others)))?;
        self.screen.print_text(format!(
            "\nThis table compresses to {}: if you can, download it. Private lookups are for tables that \
             are\n             too large to download, or that clients may not have.\n",
            units::bytes(source),
        ))
    }

    fn many_clients(self, many: &Outcome, lookups: &[AddressLookup]) -> Result<()> {
        let trip =
            median(lookups.iter().map(|lookup| lookup.spent.client + lookup.spent.round_trip)).as_secs_f64();
        self.screen.print_text(format!(
            "{} concurrent clients: {} lookups per second, {} queries per pass over the table on average\n\
             (one client alone: {} per second). Queries that arrive during a pass share the next pass.",
            many.clients,
            units::digits(many.lookups_per_second),
            units::digits(many.queries_per_pass),
            units::digits(1.0 / trip.max(1e-9)),
        ))
    }

    fn end(self, stage: &DemoServer, folder: Option<&Path>) -> String {
        let Some(dir) = folder else { return String::new() };
        format!(
            "\nThe table is kept in {dir}. Next:\n  sotto serve {dir}\n  \
             sotto get --server http://127.0.0.1:8080 --table {} --key 8.8.8.8 --pin {}",
            stage.encoded.hinted.image.catalog().table,
            stage.encoded.hinted.public_key,
            dir = dir.display(),
        )
    }
}

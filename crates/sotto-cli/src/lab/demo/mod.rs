//! `sotto demo`: a real table, served and looked up privately over the network, end to end.
//!
//! | module | contents |
//! |---|---|
//! | [`country`] | the data in the clear, read by independent code, and lookups without privacy |
//! | [`setup`] | encoding for both schemes, serving, opening: the parts of an operator and a user |
//! | [`lookups`] | private lookups, each verified; their total cost; many clients at once |
//! | [`log`] | a transparency log: a name looked up, its entry proved |
//! | [`narration`] | what is printed |

mod country;
mod log;
mod lookups;
mod narration;
mod setup;

use crate::failure::{Failure, Result};
use crate::lab::demo::country::Countries;
use crate::lab::demo::lookups::{AddressLookup, SchemeRun};
use crate::lab::demo::narration::Narrator;
use crate::lab::demo::setup::{DemoScheme, DemoServer, DemoTables, HINTED, KEYED};
use crate::screen::progress::ProgressLine;
use crate::screen::{Report, Screen, with_fields};
use crate::table_summary::stages_json;
use crate::verbs::encode::job::EncodeOutcome;
use serde_json::{Value, json};
use sotto_core::{Costs, TableShape};
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
        let data = country::find(self.data.as_deref())?;
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
        let json = json!({
            "server": stage.url(),
            "hinted": scheme(&stage.encoded.hinted, hinted)?,
            "keyed": scheme(&stage.encoded.keyed, keyed)?,
            "scan": {
                "bytes": reading.bytes,
                "pass_ms": hinted.pass.as_secs_f64() * 1e3,
                "read_ms": reading.time.as_secs_f64() * 1e3,
                "of_read_ratio": reading.share_of(hinted.pass),
            },
            "in_the_clear": baselines.clear,
            "download": baselines.download,
            "larger": {
                "table_bytes": LARGER.rows * LARGER.row_bytes,
                "hinted": costs(&larger.hinted),
                "keyed": costs(&larger.keyed),
            },
            "crowd": many,
            "log": log.json(),
        });
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

/// The cost of the same lookup without privacy, and without a server.
struct Baselines {
    clear: country::Cost,
    download: country::Cost,
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
    let row = u32::from(example.address) / country::BLOCK;
    let (clear, value) = country::in_the_clear(&table, row, 2).map_err(failed)?;
    let first = Ipv4Addr::from(row * country::BLOCK);
    // Zero bytes stand for an address without a country.
    if value != plain.of(first).unwrap_or_default() {
        return Err(Failure::internal("the plaintext query and the data give different answers"));
    }
    let download = country::download(&table).map_err(failed)?;
    let revealed = format!("{first}/24");
    Ok(Baselines { clear, download, revealed })
}

fn larger(scheme: DemoScheme) -> Result<Costs> {
    let entry = scheme.entry()?;
    let report = (entry.select)(&LARGER).and_then(|params| (entry.report)(&params));
    report.map(|report| report.costs).map_err(Failure::from)
}

fn scheme(done: &EncodeOutcome, run: &SchemeRun) -> Result<Value> {
    let encoded = json!({
        "encode": done.summary,
        "scheme": done.scheme,
        "stages_s": stages_json(&done.stages),
        "public_key": done.public_key.to_string(),
    });
    with_fields(run, encoded)
}

fn costs(costs: &Costs) -> Value {
    json!({
        "artifact_bytes": costs.artifact_bytes,
        "keys_bytes": costs.keys_bytes,
        "query_bytes": costs.query_bytes,
        "answer_bytes": costs.answer_bytes,
    })
}

/// The median of some durations.
pub(crate) fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<_> = times.collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

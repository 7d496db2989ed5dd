//! A demo with a real transparency log: whether there is a certificate for a name, and whether it
//! is in the log, without revealing the name to the server.
//!
//! An operator signs the log, lays its proofs out in tables, makes a table of its names, and serves
//! both.

use crate::connect_args;
use crate::failure::{Failure, FileContext, Result};
use crate::lab::demo::Demo;
use crate::lab::demo::lookups::{SpentOnLookup, wrong_answer};
use crate::lab::demo::sample;
use crate::lab::demo::sample::Sample;
use crate::lab::demo::setup::{DemoScheme, HINTED, LOOKUPS, encode, next_to};
use crate::screen::{Screen, grid, units};
use crate::verbs::encode::job::EncodeOutcome;
use crate::verbs::merkle;
use schemars::JsonSchema;
use serde::Serialize;
use sotto_catalog::{Hex32, PublicKey};
use sotto_client::{Stack, Table};
use sotto_core::Goal;
use sotto_db::StackDir;
use sotto_db::ingest::{ColumnSelector, CostModel, KeywordOptions, SourceLayout};
use sotto_layers::keyword::KeyForm;
use sotto_prg::PublicSeed;
use sotto_server::{RunningServer, Server, ServerConfig, TableConfig};
use sotto_tlog::{LogError, LogKey, LogLayout, LogSigner, LogWriter};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A name that is always looked up, and is in no certificate: it is reserved for documentation.
const NOT_THERE: &str = "example.com";

/// Lookups in a transparency log, and a proof from it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LogReport<'a> {
    /// Number of entries of the log.
    entries: usize,
    /// Number of names in them.
    names: usize,
    /// Root of the log, in hexadecimal.
    root: String,
    /// Address of the server.
    server: String,
    lookups: &'a [NameLookup],
    proof: &'a Proof,
}

/// The results of this demo.
pub(crate) struct LogRun {
    sample: Sample,
    stage: LogServer,
    found: Vec<NameLookup>,
    proof: Proof,
}

impl Demo {
    /// Reads the log's sample, before any work is done.
    pub(crate) fn sample(&self) -> Result<Sample> {
        Sample::read(&sample::find(self.log.as_deref())?)
    }

    /// Runs the demo of the log.
    pub(crate) fn log(&self, sample: Sample, scratch: &Path, screen: Screen) -> Result<LogRun> {
        let why = "no certificate of the log has a domain name";
        let example = sample.example().ok_or_else(|| Failure::input(why))?;
        print_data(screen, &sample)?;
        let folder = self.dir.as_deref().map(|dir| next_to(dir, NAMES));
        let stage = LogServer::new(&sample, scratch, folder, self.threads.into(), screen)?;
        print_staged(screen, &stage)?;

        let mut names = vec![example.to_owned(), NOT_THERE.to_owned()];
        names.extend(self.names.iter().filter(|name| !names.contains(name)).cloned().collect::<Vec<_>>());
        let found = stage.look_up(&sample, &names, screen)?;
        print_found(screen, &found)?;
        let entry = found.first().and_then(|first| first.entry);
        let entry = entry.ok_or_else(|| Failure::internal("no entry for a name of the sample"))?;
        let proof = stage.prove(&sample, entry)?;
        print_proved(screen, &proof)?;
        Ok(LogRun { sample, stage, found, proof })
    }
}

impl LogRun {
    pub(crate) fn report(&self) -> LogReport<'_> {
        LogReport {
            entries: self.sample.entries.len(),
            names: self.sample.names.len(),
            root: self.sample.root.to_string(),
            server: self.stage.url().to_string(),
            lookups: &self.found,
            proof: &self.proof,
        }
    }

    /// Fails if an answer is wrong, which is a fault of sotto.
    pub(crate) fn check(&self) -> Result<()> {
        match self.found.iter().find(|found| !found.right) {
            None => Ok(()),
            Some(wrong) => Err(wrong_answer(&wrong.name)),
        }
    }
}

/// The result of looking up a name.
#[derive(Serialize, JsonSchema)]
pub(crate) struct NameLookup {
    pub(crate) name: String,
    /// First entry with the name, according to the table.
    pub(crate) entry: Option<u64>,
    /// First entry with the name, according to the data in the clear.
    #[serde(skip)]
    pub(crate) expected: Option<u64>,
    /// Whether the two are equal.
    pub(crate) right: bool,
    #[serde(flatten)]
    pub(crate) spent: SpentOnLookup,
}

/// A proof that was fetched and verified.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Proof {
    pub(crate) entry: u64,
    /// Text of the proof, in the format of `c2sp.org/tlog-proof`.
    pub(crate) text: String,
    pub(crate) lookups: usize,
    pub(crate) up_bytes: u64,
    pub(crate) down_bytes: u64,
    /// Bytes of the hints of all tables, fetched once.
    pub(crate) once_bytes: u64,
    /// Time from the request to the verified proof.
    #[serde(rename = "ms", serialize_with = "units::ms")]
    #[schemars(with = "f64")]
    pub(crate) took: Duration,
}

impl LogServer {
    /// Looks up names, one request each.
    pub(crate) fn look_up(
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
        let mut table = table?;
        names.iter().map(|name| look_up(&mut table, sample, name)).collect()
    }

    /// Fetches the proof of an entry privately and verifies it against the log's key, for the entry
    /// in the clear.
    pub(crate) fn prove(&self, sample: &Sample, entry: u64) -> Result<Proof> {
        let opened =
            Stack::connect(&self.url(), PROOFS).pin(self.pin).cache_dir(&self.cache).state_in_memory().open();
        let mut stack = opened?;
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
            up_bytes: stats().map(|stats| stats.query_requests.up).sum(),
            down_bytes: stats().map(|stats| stats.query_requests.down).sum(),
            once_bytes: stats().map(|stats| stats.artifacts.down).sum(),
            took,
        })
    }
}

fn look_up(table: &mut Table, sample: &Sample, name: &str) -> Result<NameLookup> {
    let value = table.find(name)?;
    let number = |value: Vec<u8>| {
        let text = table.catalog().value.show(&value);
        text.parse().map_err(|_| Failure::internal(format!("{text:?} is not an index of an entry")))
    };
    let entry = value.map(number).transpose()?;
    let (expected, spent) = (sample.entry_of(name), SpentOnLookup::last(table)?);
    Ok(NameLookup { name: name.to_owned(), entry, expected, right: entry == expected, spent })
}

/// Number of lines of a proof that are shown.
const LINES: usize = 5;

fn print_data(screen: Screen, sample: &Sample) -> Result<()> {
    screen.print_text(
        "\nWhich entry of a Certificate Transparency log has a certificate for a name, and is it really in the log?\n\
         Looked up without revealing the name.\n",
    )?;
    let root = sample.root.to_string();
    screen.print_text(format!(
        "Log        {}: the first {} entries of a real log, of 3 May 2025.\n           \
         Every leaf hash matches the published one; root {}...\n           \
         The sample has no signed checkpoint: a key created just now signs it.\n\
         Names      {} domain names, each with the first entry that has it",
        sample.path.display(),
        units::count(sample.entries.len() as u64),
        root.get(..16).unwrap_or(&root),
        units::count(sample.names.len() as u64),
    ))
}

fn print_staged(screen: Screen, stage: &LogServer) -> Result<()> {
    let names = &stage.names.summary;
    screen.print_text(format!(
        "Encode     by name: {} rows of {} bytes, of which a lookup fetches two, in {}\n           \
         proofs: {}, {} tables of hashes (a table for each color of the tree), in {}\n\
         Serve      {}\n",
        units::count(names.rows),
        names.row_bytes,
        units::time(stage.names.took),
        stage.layer,
        stage.tables,
        units::time(stage.took),
        stage.url(),
    ))
}

fn print_found(screen: Screen, found: &[NameLookup]) -> Result<()> {
    let columns =
        "name | answer | correct | >client ms | >server ms | >round trip ms | >bytes up | >bytes down";
    let answer = |entry: Option<u64>| entry.map_or("not found".to_owned(), |entry| format!("entry {entry}"));
    let rows = found.iter().map(|found| {
        let correct = if found.right { "yes".to_owned() } else { format!("NO: {}", answer(found.expected)) };
        [found.name.clone(), answer(found.entry), correct].into_iter().chain(found.spent.cells()).collect()
    });
    screen.print_text(grid::grid(columns, rows))?;
    screen.print_text(
        "\nA missing name is looked up like any other, and only the client learns that it is missing.\n",
    )
}

fn print_proved(screen: Screen, proof: &Proof) -> Result<()> {
    screen.print_text(format!(
        "Proof that entry {} is in the log: {} lookups, one in each table, {} up and {} down,\n\
         {} of hints once, {}. Verified with the key of the log:\n",
        proof.entry,
        proof.lookups,
        units::bytes(proof.up_bytes),
        units::bytes(proof.down_bytes),
        units::bytes(proof.once_bytes),
        units::time(proof.took),
    ))?;
    let lines: Vec<&str> = proof.text.lines().collect();
    for line in lines.iter().take(LINES) {
        screen.print_text(format!("   {line}"))?;
    }
    screen.print_text(format!("   ... {} lines in total", lines.len()))
}

/// Name of the table of names.
pub(crate) const NAMES: &str = "names";

/// Name of the stack of the log's proofs.
pub(crate) const PROOFS: &str = "proofs";

/// Origin of the log that the demo signs.
const ORIGIN: &str = "demo.example/navigli2025h2";

/// The log and its names on a running server.
pub(crate) struct LogServer {
    /// Key that signed the log's checkpoint.
    pub(crate) log_key: LogKey,
    /// Encoded table of names.
    pub(crate) names: EncodeOutcome,
    /// Key that signed the stack.
    pub(crate) pin: PublicKey,
    /// Number of tables in the stack.
    pub(crate) tables: usize,
    /// Layout of the proofs.
    pub(crate) layer: String,
    /// Time to make the stack from the log's files.
    pub(crate) took: Duration,
    running: RunningServer,
    /// Cache folder of the clients.
    pub(crate) cache: PathBuf,
}

impl LogServer {
    /// Writes everything under `scratch`, which is temporary, except the table of names if it is to
    /// be kept.
    pub(crate) fn new(
        sample: &Sample,
        scratch: &Path,
        folder: Option<PathBuf>,
        threads: usize,
        screen: Screen,
    ) -> Result<Self> {
        let log_key = signed(sample, &scratch.join("log"))?;
        let names = names(sample, scratch, &folder.unwrap_or_else(|| scratch.join(NAMES)), screen)?;

        let began = Instant::now();
        let out = scratch.join(PROOFS);
        let key = log_key.to_string();
        let log = scratch.join("log");
        let args = [log.as_os_str(), "--log-key".as_ref(), key.as_ref(), "--out".as_ref(), out.as_os_str()];
        let more =
            ["--layout", "static-ct", "--design", "color", "--public-layers", "0", "--scheme", "simplepir/1"];
        merkle::build(args.into_iter().chain(more.iter().map(AsRef::as_ref)), screen)?;
        let took = began.elapsed();
        let missing = || Failure::internal("the built stack is missing");
        let (signature, stack) = StackDir::find(&out).ok_or_else(missing)?.read()?;

        let tables = vec![TableConfig::path(&names.summary.image)];
        let config = ServerConfig {
            tables,
            stacks: vec![out],
            threads,
            reload_seconds: 0,
            ..ServerConfig::on_free_ports()
        };
        let running = Server::start(&config)?;
        Ok(LogServer {
            log_key,
            names,
            pin: signature.public_key(),
            tables: stack.shards.len(),
            layer: stack.layers.iter().map(|layer| layer.name.as_str()).collect::<Vec<_>>().join(" over "),
            took,
            running,
            cache: scratch.join("cache"),
        })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.running.public)
    }
}

/// Writes the entries as a log, checks that its root is the expected one, and signs it with a new
/// key.
fn signed(sample: &Sample, folder: &Path) -> Result<LogKey> {
    let failed = |error: LogError| Failure::input(error.to_string());
    let mut rng = sotto_prg::system_rng()?;
    let signer = LogSigner::generate(ORIGIN, &mut rng).map_err(failed)?;
    let mut writer = LogWriter::create(folder.to_owned(), LogLayout::StaticCt).map_err(failed)?;
    sample.entries.iter().try_for_each(|entry| writer.append(&entry.written)).map_err(failed)?;
    let checkpoint = writer.publish(&signer).map_err(failed)?;
    if Hex32::from(checkpoint.root) != sample.root {
        let why = format!("the entries have root {}, expected {}", Hex32::from(checkpoint.root), sample.root);
        return Err(Failure::input(why).fix("use the sample of the project"));
    }
    Ok(signer.public().clone())
}

/// Encodes a table of the names, each with the number of its entry.
fn names(sample: &Sample, scratch: &Path, out: &Path, screen: Screen) -> Result<EncodeOutcome> {
    let mut lines = String::new();
    for (name, entry) in &sample.names {
        // Writing into a `String` cannot fail.
        let _ = writeln!(lines, "{name},{entry}");
    }
    let input = scratch.join("names.csv");
    std::fs::write(&input, lines).doing("writing", &input)?;
    let mut rng = sotto_prg::system_rng()?;
    let scheme = DemoScheme { table: NAMES, ..HINTED };
    let (entry, goal) = (scheme.entry()?, Goal::default());
    let costing = CostModel { entry, lookups_per_client: LOOKUPS, goal, set: None, batch: None };
    let layout = SourceLayout::Keyword(KeywordOptions {
        key: ColumnSelector::Number(1),
        form: KeyForm::Domain,
        value: Some(ColumnSelector::Number(2)),
        values: Default::default(),
        headroom: 0,
        probes: None,
        slots: None,
        bands: Default::default(),
        costing: Some(costing),
        seed: PublicSeed::fresh(&mut rng),
    });
    encode(&input, out, scheme, layout, None, screen)
}

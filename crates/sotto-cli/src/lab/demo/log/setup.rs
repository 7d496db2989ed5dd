//! The part of an operator: signs the log, lays its proofs out in tables, makes a table of its
//! names, serves both.

use crate::failure::{Failure, FileContext, Result};
use crate::lab::demo::log::sample::Sample;
use crate::lab::demo::setup::{HINTED, LOOKUPS};
use crate::screen::Screen;
use crate::verbs::encode::job::{EncodeJob, EncodeOutcome};
use crate::verbs::merkle;
use sotto_catalog::{Hex32, PublicKey};
use sotto_core::Goal;
use sotto_db::ingest::{
    ColumnSelector, CostModel, FileOptions, KeywordOptions, SourceFormat, SourceLayout as Source,
};
use sotto_db::{IngestOptions, PiecesToWrite, RowProofs, StackDir};
use sotto_layers::keyword::KeyForm;
use sotto_prg::PublicSeed;
use sotto_server::{RunningServer, Server, ServerConfig, TableConfig};
use sotto_tlog::{LogError, LogKey, LogLayout, LogSigner, LogWriter};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

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
    let (entry, goal) = (HINTED.entry()?, Goal::default());
    let costing = CostModel { entry, lookups_per_client: LOOKUPS, goal, set: None, batch: None };
    let job = EncodeJob {
        input: &input,
        out,
        name: NAMES.parse().map_err(|error| Failure::internal(format!("{error}")))?,
        scheme: entry,
        source: IngestOptions {
            file: FileOptions { format: Some(SourceFormat::Csv), ..FileOptions::default() },
            layout: Source::Keyword(KeywordOptions {
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
            }),
        },
        headroom: 0,
        replace: false,
        lookups: LOOKUPS,
        goal,
        set: None,
        symmetric: false,
        pieces: PiecesToWrite::Whole,
        verified: RowProofs::IfCheap,
        threads: None,
        lifetime: None,
        key: None,
        attribution: None,
    };
    job.run(screen)
}

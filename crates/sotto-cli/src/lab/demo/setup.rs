//! The parts of an operator and a user: encodes the data, serves it, opens the table.

use crate::failure::{Exit, Failure, Result};
use crate::lab::demo::{Demo, median};
use crate::publication::PublishArgs;
use crate::screen::Screen;
use crate::screen::progress::ProgressLine;
use crate::verbs::encode::job::{EncodeJob, EncodeOutcome};
use crate::{connect_args, files};
use sotto_catalog::KeyKind;
use sotto_client::Table;
use sotto_core::{Goal, Image, SchemeEntry, Section};
use sotto_db::ingest::{FileOptions, RangeOptions, SourceFormat, SourceLayout};
use sotto_db::{IngestOptions, PiecesToWrite, RowProofs};
use sotto_server::{RunningServer, Server, ServerConfig, TableConfig};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Number of addresses in a block: one row of a table over /24 blocks.
pub(crate) const BLOCK: u32 = 256;

/// The scheme with a hint, and the name of its table.
pub(crate) const HINTED: DemoScheme = DemoScheme { scheme: "simplepir/1", table: "ip-country" };

/// The scheme with keys instead, and the name of its table.
pub(crate) const KEYED: DemoScheme = DemoScheme { scheme: "fspiral/1", table: "ip-country-fspiral" };

/// A scheme in the demo, on a table of its own with the same rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DemoScheme {
    pub(crate) scheme: &'static str,
    pub(crate) table: &'static str,
}

impl DemoScheme {
    /// The registered scheme.
    pub(crate) fn entry(self) -> Result<&'static SchemeEntry> {
        sotto_registry::find(self.scheme)
            .ok_or_else(|| Failure::new(Exit::Params, format!("scheme {} is not in this build", self.scheme)))
    }

    /// The name of the scheme without its version, for output.
    pub(crate) fn name(self) -> &'static str {
        self.scheme.split('/').next().unwrap_or(self.scheme)
    }

    /// Encodes the data.
    fn encode(self, data: &Path, out: &Path, screen: Screen) -> Result<EncodeOutcome> {
        let layout = SourceLayout::Range(RangeOptions::new(KeyKind::Ipv4, u64::from(BLOCK)));
        encode(data, out, self, layout, Some(ATTRIBUTION.to_owned()), screen)
    }
}

const ATTRIBUTION: &str = "Statistics of the regional internet registries, published by the Number Resource \
                           Organization (nro.net) under CC BY 4.0, as merged by @ip-location-db/asn-country";

/// Encodes a CSV file as the table of a scheme, with the usual options.
pub(crate) fn encode(
    input: &Path,
    out: &Path,
    scheme: DemoScheme,
    layout: SourceLayout,
    attribution: Option<String>,
    screen: Screen,
) -> Result<EncodeOutcome> {
    let job = EncodeJob {
        input,
        out,
        name: scheme.table.parse().map_err(|error| Failure::internal(format!("{error}")))?,
        scheme: scheme.entry()?,
        source: IngestOptions {
            file: FileOptions { format: Some(SourceFormat::Csv), ..FileOptions::default() },
            layout,
        },
        headroom: 0,
        replace: false,
        lookups: LOOKUPS,
        goal: Goal::default(),
        set: None,
        symmetric: false,
        pieces: PiecesToWrite::Whole,
        verified: RowProofs::IfCheap,
        threads: None,
        publish: PublishArgs::default(),
        key: None,
        attribution,
    };
    job.run(screen)
}

/// Number of lookups per client that the parameters are chosen for: about those of this demo.
pub(crate) const LOOKUPS: u64 = 100;

/// The data, encoded for both schemes.
pub(crate) struct DemoTables {
    pub(crate) hinted: EncodeOutcome,
    pub(crate) keyed: EncodeOutcome,
    /// Folder of the clients' cache, and of the tables unless they are to be kept. Dropped last.
    scratch: tempfile::TempDir,
}

impl DemoTables {
    /// Encodes the data for both schemes.
    pub(crate) fn new(args: &Demo, data: &Path, screen: Screen) -> Result<Self> {
        let scratch = tempfile::Builder::new().prefix("sotto-demo-").tempdir();
        let scratch = scratch.map_err(|error| {
            Failure::new(Exit::Storage, format!("cannot create a temporary directory: {error}"))
        })?;
        let folder = scratch.path().to_owned();
        // A file that the encoder has just moved is not found, although its folder may still be
        // there.
        let tidy = move || match std::fs::remove_dir_all(&folder) {
            Err(error) if folder.exists() => Err(std::io::Error::other(error)),
            done => done,
        };
        files::on_end(tidy)
            .map_err(|error| Failure::internal(format!("cannot listen for signals: {error}")))?;
        let out = args.dir.clone().unwrap_or_else(|| scratch.path().join(HINTED.table));
        let hinted = HINTED.encode(data, &out, screen)?;
        let keyed = KEYED.encode(data, &next_to(&out, KEYED.name()), screen)?;
        Ok(DemoTables { hinted, keyed, scratch })
    }
}

/// The path of another table, next to the first.
pub(crate) fn next_to(first: &Path, other: &str) -> PathBuf {
    let mut name = first.file_name().unwrap_or_default().to_owned();
    name.push("-");
    name.push(other);
    first.with_file_name(name)
}

/// The encoded tables on a running server.
pub(crate) struct DemoServer {
    pub(crate) encoded: DemoTables,
    running: RunningServer,
}

impl DemoServer {
    /// Serves the tables, on free ports of the loopback interface.
    pub(crate) fn serve(encoded: DemoTables, threads: usize) -> Result<Self> {
        let images = [&encoded.hinted, &encoded.keyed].map(|done| TableConfig::path(&done.summary.image));
        let config = ServerConfig {
            tables: images.into(),
            threads,
            reload_seconds: 0,
            ..ServerConfig::on_free_ports()
        };
        let running = Server::start(&config)?;
        Ok(DemoServer { encoded, running })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.running.public)
    }

    /// Folder for temporary files.
    pub(crate) fn scratch(&self) -> &Path {
        self.encoded.scratch.path()
    }

    pub(crate) fn admin(&self) -> SocketAddr {
        self.running.admin
    }

    /// A client over HTTP that pins the key. The first one fetches the hint, the others find it in
    /// the cache.
    pub(crate) fn hinted(&self, bars: ProgressLine) -> Result<Table> {
        self.client(HINTED, &self.encoded.hinted, bars)
    }

    /// A client of the other table, which makes and registers keys instead.
    pub(crate) fn keyed(&self, bars: ProgressLine) -> Result<Table> {
        self.client(KEYED, &self.encoded.keyed, bars)
    }

    fn client(&self, scheme: DemoScheme, done: &EncodeOutcome, bars: ProgressLine) -> Result<Table> {
        let bars = Arc::new(bars);
        let table = Table::connect(&self.url(), scheme.table)
            .pin(done.public_key)
            .cache_dir(self.encoded.scratch.path().join("cache"))
            .progress(connect_args::on(&bars))
            .open();
        bars.finish();
        table.map_err(Failure::from)
    }

    /// Reads the bytes that a pass reads, and does nothing else with them: a lower bound for any
    /// scan.
    pub(crate) fn read_pass(&self) -> Result<PlainRead> {
        let resident = self.encoded.hinted.image.section(Section::Resident);
        let resident = resident.ok_or_else(|| Failure::internal("the image has no resident section"))?;
        let one = |_| {
            let began = Instant::now();
            std::hint::black_box(sotto_math::machine::read_pass(std::hint::black_box(resident)));
            began.elapsed()
        };
        // The first pass loads this mapping's pages.
        one(());
        let time = median((0..5).map(|_| one(())));
        Ok(PlainRead { bytes: resident.len() as u64, time: time.max(Duration::from_nanos(1)) })
    }
}

/// A plain read of the bytes that a pass reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlainRead {
    pub(crate) bytes: u64,
    pub(crate) time: Duration,
}

impl PlainRead {
    /// The rate at which the bytes are read in this time, in 10^9 bytes per second.
    pub(crate) fn rate(self, time: Duration) -> f64 {
        self.bytes as f64 / time.as_secs_f64().max(1e-9) / 1e9
    }

    /// The duration of the plain read as a share of the pass.
    pub(crate) fn share_of(self, pass: Duration) -> f64 {
        self.time.as_secs_f64() / pass.as_secs_f64().max(1e-9)
    }
}

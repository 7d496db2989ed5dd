//! What an operator and a user would do: encode the data, serve it, open the table.

use super::story::Reading;
use super::{Demo, country, tidy};
use crate::blame;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::screen::Screen;
use crate::screen::bars::Bars;
use crate::verbs::encode::{Done, Job};
use crate::verbs::get;
use sotto_catalog::{KeyKind, TableName};
use sotto_client::Table;
use sotto_core::{Goal, Image, SchemeEntry, Section};
use sotto_db::IngestOptions;
use sotto_db::ingest::{FileOptions, Format, Layout, RangeOptions};
use sotto_server::{Config, Running, Server, TableConfig};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The table's name.
const NAME: &str = "ip-country";

const ATTRIBUTION: &str = "Statistics of the regional internet registries, published by the Number Resource \
                           Organization (nro.net) under CC BY 4.0, as merged by @ip-location-db/asn-country";

/// Lookups by one client that the parameters are chosen for: about those of this demo.
pub(super) const LOOKUPS: u64 = 100;

/// An encoded table on a running server.
pub(super) struct Stage {
    pub(super) done: Done,
    running: Running,
    /// Holds the clients' cache, and the table too if nobody wants to keep it. Dropped last.
    scratch: tempfile::TempDir,
}

impl Stage {
    /// Encodes the data.
    pub(super) fn set(args: &Demo, data: &Path, screen: Screen) -> Result<(Done, tempfile::TempDir)> {
        let scratch = tempfile::Builder::new().prefix("sotto-demo-").tempdir();
        let scratch = scratch.map_err(|error| {
            Failure::new(Exit::Storage, format!("no temporary directory can be made: {error}"))
        })?;
        tidy::on_signal(scratch.path().to_owned())
            .map_err(|error| Failure::internal(format!("signals cannot be listened for: {error}")))?;
        let inside = scratch.path().join(NAME);
        let job = Job {
            input: data,
            out: args.dir.as_deref().unwrap_or(&inside),
            name: name()?,
            scheme: scheme()?,
            source: IngestOptions {
                file: FileOptions { format: Some(Format::Csv), ..FileOptions::default() },
                layout: Layout::Range(RangeOptions::new(KeyKind::Ipv4, u64::from(country::BLOCK))),
            },
            lookups: LOOKUPS,
            goal: Goal::default(),
            set: None,
            threads: None,
            key: None,
            attribution: Some(ATTRIBUTION.to_owned()),
        };
        Ok((job.run(screen)?, scratch))
    }

    /// Serves it, on free ports of the loopback interface.
    pub(super) fn serve(done: Done, scratch: tempfile::TempDir, threads: usize) -> Result<Self> {
        let config = Config {
            tables: vec![TableConfig::path(&done.summary.image)],
            threads,
            reload_seconds: 0,
            ..Config::on_free_ports()
        };
        let running = Server::start(&config).map_err(blame::start)?;
        Ok(Stage { done, running, scratch })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.running.public)
    }

    pub(super) fn admin(&self) -> SocketAddr {
        self.running.admin
    }

    /// A client over HTTP that pins the key. The first one fetches the hint, the others find it in the cache.
    pub(super) fn client(&self, bars: Bars) -> Result<Table> {
        let bars = Arc::new(bars);
        let table = Table::connect(&self.url(), NAME)
            .pin(self.done.public_key)
            .cache_dir(self.scratch.path().join("cache"))
            .progress(get::on(&bars))
            .open();
        bars.finish();
        table.map_err(blame::client)
    }

    /// Reads, and does nothing else with, the bytes a pass reads: what no scan can beat.
    pub(super) fn read_pass(&self) -> Result<Reading> {
        let resident = self.done.image.section(Section::Resident);
        let resident = resident.ok_or_else(|| Failure::internal("the image has no resident section"))?;
        let one = |_| {
            let began = Instant::now();
            std::hint::black_box(sotto_math::machine::read_pass(std::hint::black_box(resident)));
            began.elapsed()
        };
        // The first pass brings this mapping's pages in.
        one(());
        let time = super::lookups::median((0..5).map(|_| one(())));
        Ok(Reading { bytes: resident.len() as u64, time: time.max(Duration::from_nanos(1)) })
    }
}

/// The demo's scheme.
pub(super) fn scheme() -> Result<&'static SchemeEntry> {
    sotto_registry::find("simplepir/1")
        .ok_or_else(|| Failure::new(Exit::Params, "this build does not carry simplepir/1"))
}

fn name() -> Result<TableName> {
    NAME.parse().map_err(|error| Failure::internal(format!("{error}")))
}

//! `sotto bench soak DIR`: runs a server for a long time, with everything that happens meanwhile.
//!
//! A table like the one in DIR is made of synthetic rows, and served by a process of its own.
//! Clients send half of the requests that it can answer, or another share; epochs are published,
//! keys registered again, the signing key replaced, connections broken at all points. Every answer is
//! compared with the content of the row. In the end the process must hold no more memory and no more
//! open files than when it was warm: when all of it had happened a few times, and after a sixth of the
//! time at the earliest. A server that takes longer to become warm is soaked for that much longer.
//!
//! The publisher is here, and its rows, whose content at each epoch is computed and stored nowhere. So
//! an answer is compared with what the publisher wrote, and not with what another part of the program
//! read from an image.
//!
//! | module | contents |
//! |---|---|
//! | `server` | the process that serves it, and its resources over all that time |
//! | `clients` | clients that make lookups, and clients that break off |
//! | `report` | what all clients share, their results, and the final report |

mod clients;
mod report;
mod server;

use crate::failure::{Failure, FileContext, Result};
use crate::files;
use crate::lab::bench::load::{BUSY, LoadGenerator, PASS, image_of_one_server, median, percentile};
pub(crate) use crate::lab::bench::soak::report::Report;
use crate::lab::bench::soak::report::{SoakContext, SoakResults};
use crate::lab::bench::soak::server::{ResourceUse, ServerProcess, UsageSample, mib};
use crate::screen::Screen;
use crate::screen::progress::StageUnit;
use schemars::JsonSchema;
use serde::Serialize;
use sotto_bench::Options;
use sotto_catalog::{Catalog, SigningKey, TableName};
use sotto_client::ClientError;
use sotto_core::{Misuse, SchemeEntry};
use sotto_db::ingest::{Encoding, FileOptions};
use sotto_db::key_rotation::{KeyFiles, rotate};
use sotto_db::progress::silent;
use sotto_db::{
    ChangeFile, EncodeOptions, Retention, RowProofs, TableDir, TableSource, UpdateOptions, WriteLock,
    encode_table, retain, update_table,
};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Number of clients that make lookups all the time.
const STEADY: u64 = 6;

/// Time after which a server that is not warm yet is given up, if that is longer than the soak.
const MAX_WARM_UP: Duration = Duration::from_secs(600);

/// Options of a soak.
pub(crate) struct Soak {
    /// Load as a share of the server's capacity.
    pub(crate) load_factor: f64,
    pub(crate) seconds: u64,
    /// Maximum growth of memory in percent.
    pub(crate) max_growth: f64,
}

/// What has to happen at least before a server is warm: from then on new clients, epochs and broken
/// connections replace earlier ones and need no more memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct WarmUp {
    /// Tables opened by clients, with keys if the scheme has some.
    pub(crate) opened: u64,
    /// Published epochs.
    pub(crate) epochs: usize,
    /// Points at which connections were broken.
    pub(crate) points: usize,
}

impl WarmUp {
    /// Twice what the server keeps; once each point. A short test of all parts waits for nothing.
    fn of(catalog: &Catalog, options: &Options) -> Result<Self> {
        if options.quick {
            return Ok(WarmUp { opened: 0, epochs: 0, points: 0 });
        }
        let costs = catalog.terms(scheme(catalog)?).map_err(ClientError::from)?.report.costs;
        let opened = if costs.keys_bytes > 0 { server::SESSIONS as u64 } else { STEADY };
        Ok(WarmUp { opened: 2 * opened, epochs: 2 * RETENTION.images, points: clients::POINTS })
    }
}

/// Runs a soak of a server with a table like the newest epoch in `dir`.
pub(crate) fn run(dir: &Path, soak: &Soak, options: &Options, screen: Screen) -> Result<Report> {
    let bars = screen.bars();
    bars.at("encoding a similar table", 0, 0, StageUnit::Share);
    let catalog = image_of_one_server(dir)?.catalog().clone();
    let scratch = match &options.scratch {
        Some(dir) => tempfile::tempdir_in(dir),
        None => tempfile::tempdir(),
    };
    let scratch = scratch
        .map_err(|error| Failure::internal(format!("cannot create a folder for the table: {error}")))?;
    let mut publisher = Publisher::new(scratch.path(), &catalog)?;
    // Two epochs are live from the start, as they are from then on.
    publisher.next()?;
    let threads = options.threads.unwrap_or(1);
    let server = ServerProcess::start(scratch.path(), publisher.dir(), threads)?;
    end_with_this(&server, scratch.path())?;
    server.serves(&catalog.table, publisher.epoch())?;
    bars.at("measuring the capacity", 0, 0, StageUnit::Share);
    let span = Duration::from_millis(if options.quick { 300 } else { 5000 });
    let capacity = LoadGenerator::new(&[&server.url], &catalog.table, catalog.rows, PASS)?
        .closed(&server.url, BUSY, span)?
        .per_second()
        .max(1.0);
    let offered = capacity * soak.load_factor;
    // Measured once everything was used, and its clients are gone.
    std::thread::sleep(Duration::from_millis(500));
    let start = server.usage();

    let rows = publisher.rows();
    let context = SoakContext {
        url: server.url.clone(),
        table: &catalog.table,
        rows,
        over: AtomicBool::new(false),
        results: Mutex::new(SoakResults::default()),
    };
    let (whole, warm_up) = (Duration::from_secs(soak.seconds), WarmUp::of(&catalog, options)?);
    let span = whole / 6;
    let every = |parts: u32, min: Duration, max: u64| (whole / parts).clamp(min, Duration::from_secs(max));
    let (update, pause) =
        (every(12, Duration::from_millis(500), 60), every(100, Duration::from_millis(50), 2));
    let began = Instant::now();
    let (samples, warm_at) = std::thread::scope(|scope| {
        let (context, server) = (&context, &server);
        for client in 0..STEADY {
            let each = Duration::from_secs_f64(STEADY as f64 / offered);
            scope.spawn(move || clients::steady(context, client, each));
        }
        scope.spawn(move || clients::newcomers(context, pause));
        scope.spawn(move || clients::break_off(context, pause));
        let published = scope.spawn(move || publish(context, server, publisher, update));
        let (mut samples, mut warm_at) = (Vec::new(), None);
        loop {
            std::thread::sleep(every(720, Duration::from_millis(20), 1));
            let at = began.elapsed();
            samples.push(UsageSample { at, usage: server.usage() });
            if warm_at.is_none() && at >= span && context.has_seen(&warm_up) {
                warm_at = Some(at);
            }
            // What comes after the sixth in which a server becomes warm at the earliest.
            let end = warm_at.map_or(whole.max(MAX_WARM_UP), |warm| warm + (whole - span));
            if at >= end || published.is_finished() {
                break;
            }
            let seconds = warm_at.map_or(soak.seconds, |_| end.as_secs());
            bars.at("soaking", at.as_secs().min(seconds), seconds, StageUnit::Count("seconds"));
        }
        context.over.store(true, Ordering::Relaxed);
        let published = published.join().map_err(|_| Failure::internal("the publisher thread panicked"))?;
        published.map(|()| (samples, warm_at))
    })?;
    let took = began.elapsed();
    bars.at("waiting for requests in flight", 0, 0, StageUnit::Share);
    let end = settled(&server, start.descriptors);
    let open_files = if end.descriptors > start.descriptors { server.open_files() } else { Vec::new() };
    let (state_bytes, log) = (server.state_bytes(), server.log());
    let ended = server.end();
    bars.finish();
    let results = context.results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let usage = ResourceUse::of(&samples, warm_at);
    let mut ms: Vec<f64> = results.ms.iter().map(|ms| f64::from(*ms)).collect();
    ms.sort_by(f64::total_cmp);
    let published = &results.published;
    Ok(Report {
        table: catalog.table.to_string(),
        scheme: catalog.scheme.clone(),
        rows: catalog.rows,
        row_bytes: catalog.row_bytes,
        server_threads: threads,
        seconds: took.as_secs_f64(),
        capacity_per_second: capacity,
        offered_per_second: offered,
        answered_per_second: ms.len() as f64 / took.as_secs_f64(),
        lookups: ms.len() as u64,
        median_ms: ms.get(ms.len() / 2).copied().unwrap_or(0.0),
        p99_ms: percentile(&ms, 0.99),
        slowest_ms: ms.last().copied().unwrap_or(0.0),
        epochs: published.len(),
        published_slowest_seconds: published.iter().copied().fold(0.0, f64::max),
        published_median_seconds: match published.len() {
            0 => 0.0,
            _ => median(published.iter().copied()),
        },
        memory_start_mib: mib(start.resident),
        warm_after_seconds: warm_at.map(|warm| warm.as_secs_f64()),
        warm_up,
        memory_warm_mib: mib(usage.warm.resident),
        memory_end_mib: mib(usage.last.resident),
        memory_peak_mib: mib(usage.peak.resident),
        memory_idle_mib: mib(end.resident),
        anonymous_warm_mib: mib(usage.warm.anonymous),
        anonymous_end_mib: mib(usage.last.anonymous),
        may_grow_percent: soak.max_growth,
        descriptors_start: start.descriptors,
        descriptors_end: end.descriptors,
        descriptors_peak: usage.peak.descriptors,
        open_files,
        kept_mib: mib(state_bytes),
        server_log: log.lines().take(20).map(str::to_owned).collect(),
        server_ended_well: ended,
        samples: usage.points,
        results,
    })
}

/// Publishes an epoch at intervals, until the end.
fn publish(
    context: &SoakContext<'_>,
    server: &ServerProcess,
    mut publisher: Publisher,
    every: Duration,
) -> Result<()> {
    let mut due = Instant::now() + every;
    while !context.is_over() {
        if Instant::now() < due {
            std::thread::sleep(Duration::from_millis(20));
            continue;
        }
        let began = Instant::now();
        due = began + every;
        let has_new_parameters = publisher.next()?;
        server.serves(context.table, publisher.epoch())?;
        let mut results = context.results();
        results.published.push(began.elapsed().as_secs_f64());
        results.new_parameters += u64::from(has_new_parameters);
        results.rotations = publisher.rotations;
    }
    Ok(())
}

/// The resources of the server once the last connections are closed, which takes the timeout of a
/// silent one.
fn settled(server: &ServerProcess, descriptors: usize) -> server::ProcessUsage {
    let began = Instant::now();
    loop {
        let usage = server.usage();
        if usage.descriptors <= descriptors || began.elapsed() > Duration::from_secs(30) {
            return usage;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// A signal that ends this process ends the server too, and removes the folder.
fn end_with_this(server: &ServerProcess, scratch: &Path) -> Result<()> {
    let (id, scratch) = (server.id(), scratch.to_owned());
    let tidy = move || {
        server::stop(id);
        std::fs::remove_dir_all(&scratch)
    };
    files::on_end(tidy).map_err(|error| Failure::internal(format!("cannot listen for signals: {error}")))
}

/// The scheme of a table.
fn scheme(catalog: &Catalog) -> Result<&'static SchemeEntry> {
    sotto_registry::find(&catalog.scheme)
        .ok_or_else(|| Failure::from(ClientError::UnknownScheme(catalog.scheme.clone())))
}

/// Retention: the two epochs that a server answers for, and the deltas that it offers.
const RETENTION: Retention = Retention { images: 2, deltas: 16 };

/// Number of epochs that a signing key signs. Clients that were away for longer follow several
/// changes of keys at once.
const EPOCHS_OF_A_KEY: u64 = 8;

/// Seconds within which clients have to follow a change of keys.
const ROTATION_SECONDS: u64 = 86_400;

/// A table, and what is needed to make its next epoch.
pub(crate) struct Publisher {
    lock: WriteLock,
    key: SigningKey,
    entry: &'static SchemeEntry,
    name: TableName,
    verified: RowProofs,
    rows: SoakRows,
    changes: PathBuf,
    epoch: u64,
    /// Changes of the signing key.
    rotations: u64,
}

impl Publisher {
    /// Encodes a table of the same shape and scheme as `catalog`, in a subfolder.
    pub(crate) fn new(scratch: &Path, catalog: &Catalog) -> Result<Self> {
        let entry = scheme(catalog)?;
        let dir = TableDir::create(&scratch.join("table"))?;
        let mut rng = sotto_prg::system_rng()?;
        let row_bytes = usize::try_from(catalog.row_bytes).unwrap_or(usize::MAX);
        let mut publisher = Publisher {
            lock: dir.lock()?,
            key: dir.signing_key(None, &mut rng)?,
            entry,
            name: catalog.table.clone(),
            verified: if catalog.rows_root.path.is_some() { RowProofs::Yes } else { RowProofs::No },
            rows: SoakRows { rows: catalog.rows, row_bytes },
            changes: scratch.join("changes.csv"),
            epoch: 0,
            rotations: 0,
        };
        publisher.encode()?;
        Ok(publisher)
    }

    /// The folder of the table.
    pub(crate) fn dir(&self) -> &Path {
        self.lock.dir().path()
    }

    /// The contents of the table's rows.
    pub(crate) fn rows(&self) -> SoakRows {
        self.rows
    }

    /// The newest epoch of the table.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Makes the next epoch, from the changes alone if the scheme can. Returns whether it has other
    /// parameters, so that all clients' keys have become useless.
    pub(crate) fn next(&mut self) -> Result<bool> {
        let before = self.digest()?;
        if self.epoch.is_multiple_of(EPOCHS_OF_A_KEY) {
            self.rotate()?;
        }
        if self.entry.server.update_image.is_none() {
            self.encode()?;
        } else {
            self.update()?;
        }
        retain(&self.lock, RETENTION, &silent)?;
        Ok(self.digest()? != before)
    }

    /// Has another key sign from the next epoch on.
    fn rotate(&mut self) -> Result<()> {
        let mut rng = sotto_prg::system_rng()?;
        rotate(&self.lock, KeyFiles::default(), ROTATION_SECONDS, false, &mut rng)?;
        self.key = self.lock.dir().signing_key(None, &mut rng)?;
        self.rotations += 1;
        Ok(())
    }

    fn digest(&self) -> Result<sotto_catalog::Hex32> {
        Ok(self.lock.dir().open_latest()?.catalog().params_digest)
    }

    fn encode(&mut self) -> Result<()> {
        let options =
            EncodeOptions { verified: self.verified, ..EncodeOptions::new(self.name.clone(), &self.key) };
        let at = RowsAtEpoch { rows: self.rows, epoch: self.epoch + 1 };
        encode_table(self.entry, &at, &self.lock, &options, &silent)?;
        self.epoch += 1;
        Ok(())
    }

    fn update(&mut self) -> Result<()> {
        let epoch = self.epoch + 1;
        self.write_changes(epoch).doing("writing", &self.changes)?;
        let file = FileOptions { header: Some(true), ..FileOptions::default() };
        let changes = ChangeFile { file, encoding: Some(Encoding::Hex), ..ChangeFile::default() };
        let options = UpdateOptions { changes, threads: Some(1), ..UpdateOptions::new(&self.key) };
        update_table(self.entry, &self.lock, Some(&self.changes), &options, &silent)?;
        self.epoch = epoch;
        Ok(())
    }

    fn write_changes(&self, epoch: u64) -> std::io::Result<()> {
        let mut file = std::io::BufWriter::new(std::fs::File::create(&self.changes)?);
        writeln!(file, "row,value")?;
        for row in self.rows.changed(epoch) {
            writeln!(file, "{row},{}", crate::screen::units::hex(&self.rows.content(row, epoch)))?;
        }
        file.flush()
    }
}

/// Context of the hash that generates rows.
const CONTENT: &str = "sotto 2026 soak rows v1";

/// One row in this many changes with an epoch.
const CHANGES: u64 = 1000;

/// A table of which some rows change with each epoch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SoakRows {
    pub(crate) rows: u64,
    pub(crate) row_bytes: usize,
}

impl SoakRows {
    /// Whether a row has changed with this epoch.
    fn changes(row: u64, epoch: u64) -> bool {
        // The first row changes each time, so that no epoch is without changes.
        epoch > 1 && (row == 0 || mixed(row ^ mixed(epoch)).is_multiple_of(CHANGES))
    }

    /// The rows that an epoch changes.
    pub(crate) fn changed(&self, epoch: u64) -> impl Iterator<Item = u64> {
        (0..self.rows).filter(move |row| SoakRows::changes(*row, epoch))
    }

    /// The content of a row at an epoch.
    pub(crate) fn content(&self, row: u64, epoch: u64) -> Vec<u8> {
        let written = (2..=epoch).rev().find(|at| SoakRows::changes(row, *at)).unwrap_or(1);
        let mut hasher = blake3::Hasher::new_derive_key(CONTENT);
        hasher.update(&row.to_le_bytes()).update(&written.to_le_bytes());
        let mut bytes = vec![0; self.row_bytes];
        hasher.finalize_xof().fill(&mut bytes);
        bytes
    }
}

/// The finalizer of SplitMix64, which spreads consecutive numbers.
pub(crate) fn mixed(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_add(0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// The rows of one epoch, as an encoder reads them.
pub(crate) struct RowsAtEpoch {
    pub(crate) rows: SoakRows,
    pub(crate) epoch: u64,
}

impl TableSource for RowsAtEpoch {
    fn rows(&self) -> u64 {
        self.rows.rows
    }

    fn row_bytes(&self) -> usize {
        self.rows.row_bytes
    }

    fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        let (rows, width) = (self.rows, self.rows.row_bytes.max(1));
        let end = first.saturating_add((out.len() / width) as u64);
        if end > rows.rows {
            return Err(Misuse::IndexPastEnd { index: end, len: rows.rows }.into());
        }
        let out = out.chunks_exact_mut(width);
        (first..end).zip(out).for_each(|(row, out)| out.copy_from_slice(&rows.content(row, self.epoch)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_rows_change_and_what_is_in_them_stays_until_then() {
        let rows = SoakRows { rows: 20_000, row_bytes: 24 };
        for epoch in 2..5 {
            let changed: Vec<_> = rows.changed(epoch).collect();
            assert!((5..50).contains(&changed.len()), "{} rows", changed.len());
            for row in 0..rows.rows {
                let same = rows.content(row, epoch) == rows.content(row, epoch - 1);
                assert_eq!(same, changed.binary_search(&row).is_err(), "row {row} at epoch {epoch}");
            }
        }
        let mut whole = vec![0; 24 * 10];
        let at = RowsAtEpoch { rows, epoch: 3 };
        at.read(90, &mut whole).unwrap();
        assert_eq!(whole[24..48], rows.content(91, 3));
        assert!(at.read(19_999, &mut whole).is_err(), "past the end");
    }
}

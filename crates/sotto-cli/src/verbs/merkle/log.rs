//! The arguments for a log: its folder, and the key that signs it; and the distribution of its hashes
//! to rows of tables, in one pass over the tiles from left to right, with one tile in memory.

use crate::failure::{Exit, Failure, FileContext, Result};
use crate::screen::progress::{ProgressLine, StageUnit};
use sotto_db::Watcher;
use sotto_db::table::{Buckets, MappedTable, RawFile};
use sotto_layers::{BatchCode, ProofLayout, batch_proof};
use sotto_tlog::{
    Checkpoint, DirectorySource, LogError, LogFolder, LogKey, LogLayout, LogSource, Tile, VerifiedLog,
    log_folder,
};
use sotto_tree::coloring::destinations::Destinations;
use sotto_tree::log::{CompleteSubtree, Hash, Peaks, hash};
use sotto_tree::{Coloring, PerfectTree};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Maximum number of missing files that an error names.
const NAMED: usize = 3;

/// What may be said of a log that lies in a folder.
#[derive(Debug, clap::Args)]
pub(crate) struct LogArgs {
    /// Public key of the log, or a file that holds it
    #[arg(long, value_name = "KEY")]
    log_key: String,
    /// Origin line of the log [default: the key's name; Go's checksum databases need none]
    #[arg(long, value_name = "NAME")]
    origin: Option<String>,
    /// Layout of the log's files: tlog-tiles, static-ct or sumdb [default: detected]
    #[arg(long, value_name = "LAYOUT")]
    layout: Option<LogLayout>,
    /// File of the log's checkpoint, if it is not in the folder
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// File to write the paths of all missing tiles to, one per line
    #[arg(long, value_name = "FILE")]
    missing: Option<PathBuf>,
}

/// A complete log: its checkpoint, the signed text of it, and its tiles.
pub(crate) struct OpenedLog {
    pub(crate) note: Vec<u8>,
    pub(crate) checkpoint: Checkpoint,
    pub(crate) layout: LogLayout,
    pub(crate) log: VerifiedLog<DirectorySource>,
}

impl LogArgs {
    /// Opens a log's folder, if all of its tiles exist.
    pub(crate) fn open(&self, folder: &Path, bars: &ProgressLine) -> Result<OpenedLog> {
        let (found, note, checkpoint) = self.head(folder)?;
        let source = DirectorySource(found.folder.clone());
        let tiles = Tile::count(checkpoint.size);
        let report_progress = |done| bars.at("checking for tiles", done, tiles, StageUnit::Count("tiles"));
        let paths =
            log_folder::missing(&source, found.layout, checkpoint.size, report_progress).map_err(failed)?;
        if let Some(file) = &self.missing {
            let list: String = paths.iter().map(|path| format!("{path}\n")).collect();
            std::fs::write(file, list).doing("writing", file)?;
        }
        if !paths.is_empty() {
            return Err(self.lacks(&found.folder, &paths, tiles));
        }
        let log = VerifiedLog::open(source, found.layout, &checkpoint).map_err(failed)?;
        Ok(OpenedLog { note, checkpoint, layout: found.layout, log })
    }

    /// Reads and verifies a log's checkpoint, without reading a tile.
    fn head(&self, folder: &Path) -> Result<(LogFolder, Vec<u8>, Checkpoint)> {
        head(folder, &self.log_key, self.origin.as_deref(), self.layout, self.checkpoint.as_deref())
    }

    pub(crate) fn key(&self, note: &[u8]) -> Result<LogKey> {
        Ok(pinned(key(&self.log_key)?, self.origin.as_deref(), note))
    }

    fn lacks(&self, folder: &Path, paths: &[String], tiles: u64) -> Failure {
        let (lacking, folder) = (paths.len(), folder.display());
        let named = paths.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = if lacking > NAMED { ", ..." } else { "" };
        let message = format!("{lacking} of {tiles} tiles are missing in {folder}: {named}{more}");
        let fix = match &self.missing {
            Some(file) => format!("fetch the files listed in {} from the log", file.display()),
            None => "fetch them from the log; --missing FILE lists all of them".to_owned(),
        };
        Failure::missing(message).fix(fix)
    }
}

/// Finds a log's checkpoint, and verifies it.
pub(crate) fn head(
    folder: &Path,
    text: &str,
    origin: Option<&str>,
    layout: Option<LogLayout>,
    checkpoint: Option<&Path>,
) -> Result<(LogFolder, Vec<u8>, Checkpoint)> {
    let key = key(text)?;
    let mut found = LogFolder::at(folder, layout, key.name());
    if let Some(elsewhere) = checkpoint {
        found.checkpoint = elsewhere.to_owned();
    }
    let path = &found.checkpoint;
    let note = std::fs::read(path).map_err(|e| {
        Failure::file("reading the log's checkpoint", path, &e)
            .fix("give the folder of the log's tiles, and --checkpoint FILE if the checkpoint is elsewhere")
    })?;
    let checkpoint = Checkpoint::open(&note, &pinned(key, origin, &note)).map_err(failed)?;
    Ok((found, note, checkpoint))
}

/// Parses a key: its text, or a file that contains it.
pub(crate) fn key(text: &str) -> Result<LogKey> {
    let path = Path::new(text);
    match text.parse::<LogKey>() {
        Ok(key) => return Ok(key),
        Err(error) if LogKey::has_form(text) && !path.exists() => {
            return Err(failed(error).fix("copy the key again, or give a file that has it"));
        }
        Err(_) => {}
    }
    let held = std::fs::read_to_string(path).map_err(|e| {
        Failure::file("reading the log's key", path, &e)
            .fix("give the key itself, NAME+ID+BASE64 or NAME+BASE64, or a file that has it")
    })?;
    held.trim().parse().map_err(failed)
}

/// A key for a checkpoint of this origin, if one was given.
pub(crate) fn pinned(key: LogKey, origin: Option<&str>, note: &[u8]) -> LogKey {
    match origin {
        Some(origin) => key.with_origin(origin),
        None => key.for_checkpoint(note),
    }
}

/// Parses a leaf hash: of an entry in a file, or in hexadecimal.
pub(crate) fn leaf(entry: Option<&Path>, leaf: Option<&str>) -> Result<Option<Hash>> {
    if let Some(path) = entry {
        let entry = std::fs::read(path).doing("reading the entry", path)?;
        return Ok(Some(hash::leaf(&entry)));
    }
    let parse = |text: &str| text.parse::<sotto_catalog::Hex32>().map(|hex| hex.0);
    let leaf = leaf.map(parse).transpose();
    leaf.map_err(|_| Failure::usage("--leaf is not 64 hexadecimal digits in lower case"))
}

/// The failure of a log.
pub(crate) fn failed(error: LogError) -> Failure {
    match error {
        LogError::Storage { .. } => Failure::new(Exit::Storage, error.to_string()),
        LogError::Missing { .. } => Failure::missing(error.to_string()),
        LogError::KeyText(_) => Failure::usage(error.to_string()),
        _ => Failure::input(error.to_string()),
    }
}

/// Number of levels of a tile.
const TILE: usize = 8;

/// The tables of a log, and its public hashes.
pub(crate) struct LogTables {
    pub(crate) tables: Vec<RawFile>,
    pub(crate) peaks: Peaks,
    /// Hashes of the design's public levels, in order.
    pub(crate) public: Vec<Hash>,
}

/// A table that is being written.
struct TableWriter {
    path: PathBuf,
    out: BufWriter<File>,
    bytes: u64,
}

impl TableWriter {
    fn create(path: PathBuf) -> Result<Self> {
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path);
        let file = file.doing("writing", &path)?;
        Ok(TableWriter { path, out: BufWriter::with_capacity(1 << 18, file), bytes: 0 })
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes += bytes.len() as u64;
        self.out.write_all(bytes).doing("writing", &self.path)
    }

    /// Completes the table with whole rows, at least one, padded with zeros.
    fn finish(mut self, row_bytes: usize) -> Result<RawFile> {
        let rows = self.bytes.div_ceil(row_bytes as u64).max(1);
        let missing = rows * row_bytes as u64 - self.bytes;
        self.put(&vec![0; missing as usize])?;
        let path = self.path;
        let file = self.out.into_inner().map_err(|e| Failure::file("writing", &path, e.error()))?;
        RawFile::new(file, &path, rows, row_bytes).map_err(Failure::from)
    }
}

impl LogTables {
    /// Reads a whole log. `report` is called with the number of leaves done. Files are created in
    /// `folder`, which is temporary.
    pub(crate) fn of<S: LogSource>(
        log: &mut VerifiedLog<S>,
        design: ProofLayout,
        folder: &Path,
        report: impl Fn(u64),
    ) -> Result<Self> {
        let count = match design {
            ProofLayout::Color { layers, .. } => usize::from(layers),
            ProofLayout::Tile { levels } => levels.into(),
            // All nodes, which are in no bucket yet.
            ProofLayout::Batch(_) => 1,
        };
        let tables = (0..count).map(|i| TableWriter::create(folder.join(format!("{i}.rows"))));
        let mut tables = tables.collect::<Result<Vec<_>>>()?;
        let mut public: Vec<Vec<Hash>> = vec![Vec::new(); design.public_levels().len()];
        let mut peaks = Peaks::new();
        let coloring = match design {
            ProofLayout::Color { layers, .. } => {
                Some(Coloring::new(PerfectTree::new(2, layers).map_err(wrong)?))
            }
            ProofLayout::Tile { .. } | ProofLayout::Batch(_) => None,
        };
        // Colors are looked up for this many leaves at a time.
        let run = match design {
            ProofLayout::Color { layers, .. } => TILE.min(usize::from(layers) - 1),
            ProofLayout::Tile { .. } | ProofLayout::Batch(_) => TILE,
        };
        let destined =
            coloring.as_ref().map(|coloring| coloring.destinations(run)).transpose().map_err(wrong)?;
        let within = coloring.as_ref().map_or(0, |coloring| (1 << (coloring.shape().height() - run)) - 1);
        let mut to = Destinations::default();
        // The rows of a batch code, without a root.
        let mut nodes = (0..batch_proof::rows(log.peaks().leaves())).map(|_| 0);
        for tile in 0..log.tiles() {
            let leaves = log.leaves(tile).map_err(failed)?;
            for (i, leaves) in (0u64..).zip(leaves.chunks(1 << run)) {
                if let Some(destined) = &destined {
                    destined.of((tile << (TILE - run) | i) & within, &mut to).map_err(wrong)?;
                }
                let mut inside = to.inside.iter();
                let mut outcome = Ok(());
                peaks.extend(leaves, |CompleteSubtree { level, hash, .. }| {
                    if let Some(at) = design.public_levels().iter().position(|public| *public == level) {
                        public.get_mut(at).into_iter().for_each(|hashes| hashes.push(hash));
                    }
                    let table = match (design, usize::from(level).checked_sub(run)) {
                        (ProofLayout::Color { .. }, None) => inside.next().copied(),
                        (ProofLayout::Color { .. }, Some(above)) => to.above.get(above).copied(),
                        (ProofLayout::Tile { .. }, _) if level % 8 == 0 => Some(level / 8),
                        (ProofLayout::Tile { .. }, _) => None,
                        (ProofLayout::Batch(_), _) => nodes.next(),
                    };
                    let table = table.and_then(|table| tables.get_mut(usize::from(table)));
                    if let (Some(table), true) = (table, outcome.is_ok()) {
                        outcome = table.put(&hash);
                    }
                });
                outcome?;
            }
            report(peaks.leaves());
        }
        if peaks != *log.peaks() {
            return Err(Failure::internal("the log's peaks differ from the verified ones"));
        }
        let row_bytes = design.row_bytes();
        let tables = tables.into_iter().map(|table| table.finish(row_bytes)).collect::<Result<_>>()?;
        Ok(LogTables { tables, peaks, public: public.concat() })
    }
}

/// All hashes of a log, and the batch code that assigns them to buckets.
pub(crate) struct Nodes {
    copy: MappedTable,
    code: BatchCode,
}

impl Nodes {
    /// The nodes of a design that is a batch code.
    pub(crate) fn of(
        design: ProofLayout,
        rows: &LogTables,
        folder: &Path,
        watch: Watcher<'_>,
    ) -> Result<Option<Self>> {
        let (ProofLayout::Batch(code), Some(table)) = (design, rows.tables.first()) else { return Ok(None) };
        let code = code.over(rows.peaks.leaves()).map_err(wrong)?;
        let copy = MappedTable::copy(table, folder, watch)?;
        Ok(Some(Nodes { copy, code }))
    }

    pub(crate) fn buckets(&self) -> Result<Buckets<'_>> {
        Buckets::new(&self.copy, &self.code).map_err(Failure::from)
    }
}

fn wrong(error: sotto_core::Error) -> Failure {
    Failure::usage(error.to_string())
}

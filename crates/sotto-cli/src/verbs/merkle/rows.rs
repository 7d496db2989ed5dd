//! The distribution of a log's hashes to rows of tables, in one pass over the tiles from left to
//! right, with one tile in memory.

use crate::failure::{Failure, FileContext, Result};
use crate::verbs::merkle::log_args;
use sotto_db::Watcher;
use sotto_db::table::{Buckets, MappedTable, RawFile};
use sotto_layers::{BatchCode, ProofLayout, batch_proof};
use sotto_tlog::{LogSource, VerifiedLog};
use sotto_tree::coloring::destinations::Destinations;
use sotto_tree::log::{CompleteSubtree, Hash, Peaks};
use sotto_tree::{Coloring, PerfectTree};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

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
            let leaves = log.leaves(tile).map_err(log_args::failed)?;
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

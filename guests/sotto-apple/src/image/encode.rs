//! Encodes rows as the file of the next epoch. Tables are computed strip by strip, and are never in
//! memory as a whole.

use crate::codec::Codec;
use crate::image::description::{
    FORMAT, FileLayout, KeyCompression, ShardShape, UseCaseDescription, UseCaseKind, check_name,
};
use crate::image::error::ImageError;
use crate::image::row_intake::{KeywordRows, RowIntake, ShardRows};
use crate::keyword::bucket;
use crate::keyword::cuckoo::{CuckooItems, CuckooTables, TableError, place_all};
use crate::keyword::table::plaintexts;
use crate::length_prefix;
use crate::sets::{ParamsSet, SETS, WeakParams};
use crate::use_case::UseCase;
use sotto_bfv::mulpir::{EntryShape, ValueTable};
use sotto_catalog::{Hex32, RowForm, ValueKind};
use sotto_core::{Epoch, Section, Sink};
use sotto_db::encode::in_pool;
use sotto_db::image::header::FilePart;
use sotto_db::ingest::{FileOptions, IngestProblem, KeyValueFile, LineError, Notes, PairColumns};
use sotto_db::table::TableSource;
use sotto_db::{DbError, ImageWriter, Progress, ProgressUnit, SourceColumns, Watcher, WriteLock};
use sotto_layers::keyword::KeyForm;
use sotto_oprf::p384::{PublicKey, SecretKey};
use std::path::{Path, PathBuf};

/// Bytes of entries that are written together.
pub(super) const BLOCK: usize = 1 << 20;

/// Options of a use case's encoding.
#[derive(Debug, Clone)]
pub struct UseCaseOptions {
    /// Name of the use case.
    pub name: String,
    /// Parameter set.
    pub set: ParamsSet,
    /// Whether the parameter set may be weak.
    pub weak: WeakParams,
    /// Compression of clients' keys.
    pub compression: KeyCompression,
    /// Kind of the values.
    pub value: ValueKind,
    /// Bytes of each value if values are numbers; 0 for those of the longest.
    pub value_bytes: u64,
    /// Form of the keys of a keyword table.
    pub form: KeyForm,
    /// Number of shards of a keyword table.
    pub shards: usize,
    /// Largest size in bytes of a bucket of a keyword table.
    pub bucket_bytes: usize,
    /// Number of buckets in each table of a shard of a keyword table; `None` for as few as suffice.
    pub buckets: Option<usize>,
    /// Number of keys to reserve space for in a keyword table, besides those of the rows.
    pub headroom: u64,
}

impl UseCaseOptions {
    /// Default options for a table with this name: text keys and values of any length, in one shard.
    pub fn new(name: &str) -> Self {
        UseCaseOptions {
            name: name.to_owned(),
            set: SETS[1],
            weak: WeakParams::Reject,
            compression: KeyCompression::None,
            value: ValueKind::Bytes,
            value_bytes: 0,
            form: KeyForm::Text,
            shards: 1,
            bucket_bytes: 1024,
            buckets: None,
            headroom: 0,
        }
    }
}

/// Summary of a file that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UseCaseSummary {
    /// Path of the file.
    pub path: PathBuf,
    /// Description in the file.
    pub description: UseCaseDescription,
    /// Bytes of the tables that answers are computed from.
    pub table_bytes: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
}

/// Encodes rows as the next epoch of a keyword table.
///
/// # Errors
/// [`ImageError`].
pub fn encode(
    rows: KeywordRows,
    how: &UseCaseOptions,
    lock: &WriteLock,
    watch: Watcher<'_>,
) -> Result<UseCaseSummary, ImageError> {
    let codec = UseCase::codec(&how.set, how.weak)?;
    let steps = |stage, done, total| watch(Progress { stage, done, total, unit: ProgressUnit::Rows });
    steps("place", 0, rows.len() as u64);
    let of_shards = rows.shards(how.shards);
    let (placed, entry_bytes) = place(&of_shards, how)?;
    steps("place", rows.len() as u64, rows.len() as u64);
    let shapes = placed.iter().map(|placed| keyword_shape(&codec, placed.buckets(), entry_bytes));
    let shapes = shapes.collect::<Result<Vec<_>, ImageError>>()?;
    let kind = UseCaseKind::Keyword {
        form: how.form,
        bucket_bytes: how.bucket_bytes as u64,
        fixed: how.buckets.is_some(),
    };
    let counts = of_shards.iter().map(|of| of.numbers.len() as u64);
    let shards = shapes.into_iter().zip(counts).collect();
    let values = ValueInfo { longest: rows.longest(), oprf: rows.oprf() };
    let draft = ImageDraft::new(how, kind, lock, shards, values, &codec, watch)?;
    for (s, (of, placed)) in of_shards.into_iter().zip(placed).enumerate() {
        draft.buckets(s, &rows, &of, &placed)?;
    }
    drop(rows);
    draft.finish(&codec, watch)
}

/// Shape of a shard with this number of buckets.
pub(super) fn keyword_shape(
    codec: &Codec,
    count: usize,
    entry_bytes: usize,
) -> Result<EntryShape, ImageError> {
    let dimensions = EntryShape::quickest(plaintexts(codec, count, entry_bytes));
    let plaintext_bytes = codec.kit().plaintext_bytes();
    Ok(EntryShape::new(count, entry_bytes, plaintext_bytes, dimensions, crate::keyword::TABLES)?)
}

/// Places the rows of each shard. Returns the bytes of a bucket too.
fn place(shards: &[ShardRows], how: &UseCaseOptions) -> Result<(Vec<CuckooTables>, usize), ImageError> {
    let mut all = Vec::with_capacity(shards.len());
    for of in shards {
        let line = |row: u32| of.numbers.get(row as usize).map_or(0, |number| u64::from(*number) + 1);
        let items = CuckooItems::new(&of.hashes, &of.sizes, how.bucket_bytes).map_err(|fault| match fault {
            TableError::Empty if shards.len() > 1 => {
                ImageError::Asked(format!("one of {} shards has no rows: choose fewer shards", shards.len()))
            }
            TableError::DuplicateKey(one, other) => {
                let (one, other) = (line(one), line(other));
                ImageError::Twice { first: one.min(other), second: one.max(other) }
            }
            TableError::TooLong(row) => {
                let bytes = bucket::EMPTY + of.sizes.get(row as usize).map_or(0, |size| *size as usize);
                ImageError::TooLong { row: line(row), bytes, bucket: how.bucket_bytes }
            }
            other => other.into(),
        });
        all.push(items?);
    }
    let placed = place_all(&all, how.buckets, how.headroom)?;
    let fullest = placed.iter().map(CuckooTables::entry_bytes).max().unwrap_or(bucket::EMPTY);
    let fixed = how.buckets.is_some() || how.headroom > 0;
    Ok((placed, if fixed { how.bucket_bytes } else { fullest }))
}

/// Properties of the values for the description.
pub(super) struct ValueInfo {
    /// Bytes of the longest value.
    pub(super) longest: u64,
    /// Public key of the function that seals the values.
    pub(super) oprf: Option<PublicKey>,
}

/// A file whose entries are being written.
pub(super) struct ImageDraft<'a> {
    pub(super) writer: ImageWriter<'a>,
    places: FileLayout,
    description: UseCaseDescription,
}

impl<'a> ImageDraft<'a> {
    /// Starts the next epoch of a table with these shards: the shape and the number of rows of each.
    pub(super) fn new(
        how: &UseCaseOptions,
        kind: UseCaseKind,
        lock: &WriteLock,
        shards: Vec<(EntryShape, u64)>,
        values: ValueInfo,
        codec: &Codec,
        watch: Watcher<'a>,
    ) -> Result<Self, ImageError> {
        check_name(&how.name).map_err(ImageError::Asked)?;
        shards.iter().try_for_each(|(shape, _)| codec.check(shape, how.compression.into()))?;
        let value_bytes = if how.value_bytes > 0 { how.value_bytes } else { values.longest };
        let shard = |(shape, rows): &(EntryShape, u64)| ShardShape {
            rows: *rows,
            entries: shape.entries() as u64,
            entry_bytes: shape.entry_bytes() as u64,
            dimensions: shape.dimensions().map(|x| x as u64),
        };
        let description = UseCaseDescription {
            format: FORMAT.into(),
            name: how.name.clone(),
            epoch: 0,
            set: how.set.name.into(),
            compression: how.compression,
            kind,
            value: how.value,
            value_bytes,
            oprf: values.oprf,
            shards: shards.iter().map(shard).collect(),
            tables: Hex32::from([0; 32]),
        };
        let places =
            FileLayout::of(shards.into_iter().map(|(shape, _)| shape).collect(), kind.tables(), codec)
                .map_err(ImageError::Asked)?;
        ImageDraft::of(description, places, lock, watch)
    }

    /// Starts the next epoch of a table whose description lacks only its epoch and its digest.
    pub(super) fn of(
        description: UseCaseDescription,
        places: FileLayout,
        lock: &WriteLock,
        watch: Watcher<'a>,
    ) -> Result<Self, ImageError> {
        let epoch = lock.next_epoch()?;
        let writer = ImageWriter::create(&lock.dir().image_path(epoch), watch)?;
        let failed = |e| writer.failed(e);
        writer.reserve(Section::Resident, places.table_bytes).map_err(failed)?;
        writer.reserve_part(FilePart::Entries, places.entry_bytes).map_err(failed)?;
        Ok(ImageDraft { writer, places, description: UseCaseDescription { epoch: epoch.0, ..description } })
    }

    pub(super) fn put(&self, part: FilePart, at: u64, bytes: &[u8]) -> Result<(), ImageError> {
        Ok(self.writer.write_part(part, at, bytes).map_err(|e| self.writer.failed(e))?)
    }

    /// Writes the buckets of a shard.
    fn buckets(
        &self,
        s: usize,
        rows: &KeywordRows,
        of: &ShardRows,
        placed: &CuckooTables,
    ) -> Result<(), ImageError> {
        let (Some(shape), Some(starts)) = (self.places.shapes.get(s), self.places.entries.get(s)) else {
            return Ok(());
        };
        let row = |i: &u32| rows.row(*of.numbers.get(*i as usize)?);
        let together = (BLOCK / shape.entry_bytes()).max(1);
        let mut block = Vec::new();
        for (table, start) in starts.iter().enumerate() {
            for first in (0..shape.entries()).step_by(together) {
                let some = first..shape.entries().min(first + together);
                let at = start + (first * shape.entry_bytes()) as u64;
                block.clear();
                block.resize(some.len() * shape.entry_bytes(), 0);
                for (i, out) in some.zip(block.chunks_exact_mut(shape.entry_bytes())) {
                    bucket::write(placed.rows(table, i).iter().filter_map(row), out);
                }
                self.put(FilePart::Entries, at, &block)?;
            }
        }
        Ok(())
    }

    /// Computes the tables from the entries, and gives the file its name.
    pub(super) fn finish(self, codec: &Codec, watch: Watcher<'_>) -> Result<UseCaseSummary, ImageError> {
        let writer = &self.writer;
        let mut done = 0;
        for ((shape, tables), entries) in
            self.places.shapes.iter().zip(&self.places.tables).zip(&self.places.entries)
        {
            for (start, entries) in tables.iter().zip(entries) {
                let read = |at: u64, out: &mut [u8]| writer.read_part(FilePart::Entries, entries + at, out);
                ValueTable::write(codec.kit(), shape, &read, &mut |at, lines| {
                    done += lines.len() as u64;
                    let total = self.places.table_bytes;
                    watch(Progress { stage: "encode", done, total, unit: ProgressUnit::Bytes });
                    writer.write_at(Section::Resident, start + at, lines)
                })
                .map_err(|e| writer.failed(e))?;
            }
        }
        self.close()
    }

    /// Computes digests, writes the description, and gives the file its name.
    pub(super) fn close(mut self) -> Result<UseCaseSummary, ImageError> {
        self.writer.digest(None::<Epoch>)?;
        let tables = self.writer.resident_digest().unwrap_or(Hex32::from([0; 32]));
        let description = UseCaseDescription { tables, ..self.description };
        let text = serde_json::to_vec(&description).map_err(|why| ImageError::Asked(why.to_string()))?;
        let path = self.writer.finish_foreign(&text)?;
        let file_bytes = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
        Ok(UseCaseSummary { path, description, table_bytes: self.places.table_bytes, file_bytes })
    }
}

/// Encodes rows as the next epoch of an index table. Entry `i` is row `i`; with `lengths`, it is
/// the value that row `i` contains in that form, after its length.
///
/// # Errors
/// [`ImageError`].
pub fn encode_index(
    rows: &dyn TableSource,
    lengths: Option<RowForm>,
    how: &UseCaseOptions,
    lock: &WriteLock,
    watch: Watcher<'_>,
) -> Result<UseCaseSummary, ImageError> {
    let before = lengths.map_or(0, RowForm::overhead);
    let longest = (rows.row_bytes() as u64).saturating_sub(before);
    let (kind, width) = match lengths {
        None => (UseCaseKind::Index, Some(longest)),
        Some(_) => (UseCaseKind::IndexWithLengths, length_prefix::entry_bytes(longest)),
    };
    let width = width.and_then(|width| usize::try_from(width).ok());
    let width = width.ok_or_else(|| ImageError::Asked("rows are longer than the largest entry".into()))?;
    let codec = UseCase::codec(&how.set, how.weak)?;
    let entries = usize::try_from(rows.rows()).map_err(|_| ImageError::TooMany { limit: u64::MAX })?;
    let dimensions = EntryShape::quickest(plaintexts(&codec, entries, width));
    let shape = EntryShape::new(entries, width, codec.kit().plaintext_bytes(), dimensions, 1)?;
    let values = ValueInfo { longest, oprf: None };
    let draft = ImageDraft::new(how, kind, lock, vec![(shape, rows.rows())], values, &codec, watch)?;
    let entry = lengths.map(|read| (read, length_prefix::form(longest)));
    let (mut first, mut at, mut block) = (0, 0, Vec::new());
    while first < rows.rows() {
        let some = ((BLOCK / width).max(1) as u64).min(rows.rows() - first);
        block.resize(some as usize * rows.row_bytes(), 0);
        rows.read(first, &mut block).map_err(|e| draft.writer.failed(e))?;
        if let Some((read, write)) = entry {
            block = with_lengths(&block, rows.row_bytes(), read, write, width)?;
        }
        draft.put(FilePart::Entries, at, &block)?;
        (first, at) = (first + some, at + block.len() as u64);
    }
    draft.finish(&codec, watch)
}

/// Converts rows of one form into entries of another.
fn with_lengths(
    rows: &[u8],
    row_bytes: usize,
    read: RowForm,
    write: RowForm,
    width: usize,
) -> Result<Vec<u8>, ImageError> {
    let wrong = || ImageError::Asked("a row has a length prefix that is longer than the row".into());
    let mut entries = Vec::with_capacity(rows.len() / row_bytes * width);
    for row in rows.chunks_exact(row_bytes) {
        let mut value = read.value(row.to_vec()).map_err(|_| wrong())?;
        write.write_value(&mut value, width).ok_or_else(wrong)?;
        entries.append(&mut value);
    }
    Ok(entries)
}

/// A source file, and the options for reading it.
#[derive(Debug, Clone, Copy)]
pub struct SourceFile<'a> {
    /// Path of the file.
    pub path: &'a Path,
    /// Format of the file.
    pub file: &'a FileOptions,
    /// Columns of the file.
    pub columns: PairColumns<'a>,
}

/// Summary of a file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IngestSummary {
    /// Columns of the file, for later files about the same table.
    pub origin: SourceColumns,
    /// Notes on the file.
    pub notes: Notes,
}

/// Reads a file of keys and values, and encodes it as the next epoch of a keyword table. The table
/// is symmetric if there is a key to seal its rows with.
///
/// # Errors
/// [`ImageError`], with the line of the error.
pub fn encode_file(
    from: SourceFile<'_>,
    how: &UseCaseOptions,
    sealing: Option<&SecretKey>,
    lock: &WriteLock,
    threads: Option<usize>,
    watch: Watcher<'_>,
) -> Result<(UseCaseSummary, IngestSummary), ImageError> {
    let pairs = KeyValueFile::new(from.path, from.file, from.columns, watch)?;
    let origin = pairs.origin()?;
    let mut intake = RowIntake::new(sealing, threads);
    let most = intake.most_bytes();
    let width = from.columns.values.width.map_or(most, |width| width.min(most));
    let mut notes = pairs.read(|key, value| {
        if value.len() > width {
            return Err(LineError::Line(IngestProblem::TooLong { bytes: value.len(), width }));
        }
        intake.push(key, value).map_err(|why| match why {
            ImageError::Db(error) => LineError::Db(error),
            ImageError::TooMany { .. } => {
                LineError::Line(IngestProblem::Options("more than 2^32 rows in one table"))
            }
            // The length of the value was checked before.
            _ => LineError::Line(IngestProblem::Options(
                "expected keys of at most 65535 bytes in a symmetric table",
            )),
        })
    })?;
    if notes.lines == 0 {
        return Err(DbError::from(pairs.fault(0, IngestProblem::Empty)).into());
    }
    let mut rows = intake.finish()?;
    if from.columns.value.is_none() {
        notes.repeated_keys = rows.drop_repeated();
    }
    let written = in_pool(threads, || encode(rows, how, lock, watch))?.or_else(|why| match why {
        ImageError::Twice { first, second } => {
            let [other, line] = pairs.lines([first, second])?;
            Err(DbError::from(pairs.fault(line, IngestProblem::SameKey { other })).into())
        }
        ImageError::TooLong { row, bytes, bucket } => {
            let [line, _] = pairs.lines([row, 0])?;
            Err(ImageError::LongLine { path: from.path.to_owned(), line, bytes, bucket })
        }
        other => Err(other),
    })?;
    Ok((written, IngestSummary { origin, notes }))
}

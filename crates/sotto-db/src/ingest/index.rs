//! Reads index tables: each line is a row, streamed into a temporary file of fixed-width rows; or a raw
//! file, which consists of rows and nothing else.

use crate::files::temp_file;
use crate::ingest::column_reader::ColumnReader;
use crate::ingest::error::{IngestError, IngestProblem};
use crate::ingest::line_reader::{Cell, SourceFile};
use crate::ingest::options::{FileOptions, IndexOptions};
use crate::ingest::value::{ValueLengths, lay};
use crate::ingest::{IngestedTable, Notes, SourceColumns};
use crate::progress::{Progress, ProgressUnit, Watcher};
use crate::table::RawFile;
use crate::{DbError, Result};
use sotto_catalog::catalog::{MAX_ROW_BYTES, MAX_ROWS};
use sotto_catalog::{RowForm, TableKind, ValueKind};
use sotto_core::ExpectOrDefault;
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use tempfile::NamedTempFile;

/// Number of rows up to which a table may be mostly empty, whatever the file.
const MAX_SPARSE_ROWS: u64 = 1 << 20;

/// Largest ratio of rows to lines in larger tables. Sparser numbers are identifiers rather than row
/// numbers.
const MAX_ROWS_OF_A_LINE: u64 = 1000;

/// Reads a file into a table of rows.
pub(crate) fn build(
    path: &Path,
    file: &FileOptions,
    options: &IndexOptions,
    scratch: &Path,
    watch: Watcher<'_>,
) -> Result<IngestedTable> {
    let (form, width) = lengths(path, file, options, watch)?.arrange(&options.values);
    let mut columns = vec![&options.value];
    columns.extend(&options.row);
    let mut reader = ColumnReader::open(path, file, &columns, watch)?;
    if !(1..=MAX_ROW_BYTES as usize).contains(&width) {
        return Err(reader
            .fault_at(0, Some(0), IngestProblem::Options("expected a row of 1 to 2^30 bytes"))
            .into());
    }
    // The limit of a file's length.
    let max_rows = MAX_ROWS.min(i64::MAX as u64 / width as u64);
    let mut rows = RowFile::new(temp_file(scratch)?, width);
    let mut given = RowBitmap::default();
    let mut value = Vec::new();
    while let Some(cells) = reader.next()? {
        let read = cells.first().map_or(Err(IngestProblem::Missing), |cell| {
            options.values.read(cell, &mut value)?;
            lay(form, &mut value, width)
        });
        let row = cells.get(1).map(Cell::unsigned).transpose();
        read.map_err(|problem| reader.fault(Some(0), problem))?;
        let row = row.map_err(|problem| reader.fault(Some(1), problem))?;
        if row.is_none() {
            reader.check_order()?;
        }
        let index = row.unwrap_or(reader.count() - 1);
        if index >= max_rows {
            let problem = IngestProblem::RowTooLarge { row: index, last: max_rows - 1 };
            return Err(reader.fault(row.map(|_| 1), problem).into());
        }
        if row.is_some() && !given.insert(index) {
            return Err(reader.fault(Some(1), IngestProblem::Duplicate { row: index }).into());
        }
        rows.put(index, &value)?;
    }
    let lines = reader.count();
    let [of_values, row] = [0, 1].map(|at| reader.names().nth(at).flatten());
    let origin = SourceColumns { value: of_values, row, ..SourceColumns::default() };
    if lines == 0 {
        return Err(reader.fault_at(0, None, IngestProblem::Empty).into());
    }
    let total = rows.rows;
    if total > MAX_SPARSE_ROWS.max(lines.saturating_mul(MAX_ROWS_OF_A_LINE)) {
        return Err(reader.fault_at(0, Some(1), IngestProblem::Sparse { last: total - 1, lines }).into());
    }
    let (table, total) = rows.finish()?;
    let notes = Notes { missing_rows: total - lines, ..reader.notes() };
    let value = options.values.encoding.kind();
    let (origin, layers) = (origin.of_values(form, value), form.layer().into_iter().collect());
    Ok(IngestedTable { table: Box::new(table), kind: TableKind::Index, value, layers, origin, notes })
}

/// Lengths of the values, from a first pass over the file, where they decide the form of rows.
fn lengths(
    path: &Path,
    file: &FileOptions,
    options: &IndexOptions,
    watch: Watcher<'_>,
) -> Result<ValueLengths, IngestError> {
    let mut lengths = ValueLengths::default();
    let width = options.values.width.or(options.values.encoding.fixed_width());
    let is_read_once =
        std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
    match width {
        None if is_read_once => {
            let problem =
                IngestProblem::Options("a pipe can be read only once: give the number of bytes of a row");
            return Err(IngestError::of_file(path, problem));
        }
        // The lengths in a pipe are unknown, and are treated as different.
        Some(_) if is_read_once || options.values.encoding.kind() != ValueKind::Bytes => return Ok(lengths),
        _ => {}
    }
    let mut reader = ColumnReader::open(path, file, &[&options.value], watch)?;
    let mut value = Vec::new();
    while let Some(cells) = reader.next()? {
        let read = cells.first().map_or(Ok(()), |cell| options.values.read(cell, &mut value));
        read.map_err(|problem| reader.fault(Some(0), problem))?;
        lengths.add(value.len());
    }
    Ok(lengths)
}

/// Writes rows into a file, and adjacent rows together.
struct RowFile {
    temp: NamedTempFile,
    width: usize,
    /// The rows before `next` that are not written yet.
    held: Vec<u8>,
    next: u64,
    rows: u64,
}

const HELD_BYTES: usize = 1 << 20;

impl RowFile {
    fn new(temp: NamedTempFile, width: usize) -> Self {
        RowFile { temp, width, held: Vec::with_capacity(HELD_BYTES), next: 0, rows: 0 }
    }

    fn put(&mut self, row: u64, bytes: &[u8]) -> Result<()> {
        if row != self.next || self.held.len() + bytes.len() > HELD_BYTES {
            self.flush()?;
        }
        self.held.extend_from_slice(bytes);
        self.next = row + 1;
        self.rows = self.rows.max(self.next);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let first = self.next - (self.held.len() / self.width) as u64;
        let written = self.temp.as_file().write_all_at(&self.held, first * self.width as u64);
        written.map_err(|e| DbError::io("writing rows", self.temp.path(), e))?;
        self.held.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<(RawFile, u64)> {
        self.flush()?;
        let (file, temp) = self.temp.into_parts();
        // Rows without a line are holes, which read as zero bytes.
        file.set_len(self.rows * self.width as u64).map_err(|e| DbError::io("writing rows", &temp, e))?;
        let rows = self.rows;
        Ok((RawFile::new(file, &temp, rows, self.width)?.with_temp(temp), rows))
    }
}

/// Set of the rows read so far: a bitmap that allocates only the pages it touches.
#[derive(Default)]
struct RowBitmap {
    pages: HashMap<u64, Box<[u64; PAGE_WORDS]>>,
}

/// Words in a page of the bitmap. Pages are small, since each row number far from all others
/// touches one.
const PAGE_WORDS: usize = 16;

impl RowBitmap {
    /// Adds a row; `false` if it was already in the set.
    fn insert(&mut self, row: u64) -> bool {
        let page =
            self.pages.entry(row / (PAGE_WORDS as u64 * 64)).or_insert_with(|| Box::new([0; PAGE_WORDS]));
        let Some(word) = page.get_mut((row / 64) as usize % PAGE_WORDS) else { return false };
        let bit = 1 << (row % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }
}

/// Uses the file as it is; a compressed one is decompressed into a temporary file.
pub(crate) fn build_raw(
    path: &Path,
    row_bytes: usize,
    value: ValueKind,
    scratch: &Path,
    watch: Watcher<'_>,
) -> Result<IngestedTable> {
    let fault = |problem| IngestError::of_file(path, problem);
    if row_bytes == 0 {
        return Err(fault(IngestProblem::Options("a raw file needs the number of bytes of a row")).into());
    }
    let read = |e| DbError::from(fault(IngestProblem::Read(e)));
    // Decided by the name: the first bytes of plain rows may be anything, including those of a
    // compressed file.
    let extension = path.extension().and_then(|extension| extension.to_str());
    let compressed = matches!(extension, Some("gz" | "zst"));
    let whole = |bytes: u64| match bytes {
        0 => Err(fault(IngestProblem::Empty)),
        bytes if bytes % row_bytes as u64 != 0 => {
            Err(fault(IngestProblem::PartialRow { bytes, width: row_bytes }))
        }
        bytes => Ok(bytes / row_bytes as u64),
    };
    let table = if compressed {
        let (mut source, counts) = SourceFile::open(path).map_err(read)?;
        let temp = crate::files::temp_file(scratch)?;
        let failed = |e| DbError::io("decompressing", temp.path(), e);
        let mut block = vec![0; 1 << 20];
        let mut bytes = 0;
        loop {
            let count = source.read(&mut block).map_err(read)?;
            counts.line_ends();
            if count == 0 {
                break;
            }
            temp.as_file()
                .write_all(block.get(..count).expect_or_default("what was read fits the block"))
                .map_err(failed)?;
            bytes += count as u64;
            let (done, total) = counts.progress();
            watch(Progress { stage: "read", done, total, unit: ProgressUnit::Bytes });
        }
        let rows = whole(bytes)?;
        let (file, temp) = temp.into_parts();
        RawFile::new(file, &temp, rows, row_bytes)?.with_temp(temp)
    } else {
        let file = File::open(path).map_err(read)?;
        let rows = whole(file.metadata().map_err(read)?.len())?;
        RawFile::new(file, path, rows, row_bytes)?
    };
    let notes = Notes { lines: crate::TableSource::rows(&table), ..Notes::default() };
    let origin = SourceColumns::default().of_values(RowForm::Whole, value);
    Ok(IngestedTable {
        table: Box::new(table),
        kind: TableKind::Index,
        value,
        layers: Vec::new(),
        origin,
        notes,
    })
}

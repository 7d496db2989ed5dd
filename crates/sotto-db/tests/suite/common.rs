//! Helpers that several test files share: a folder, a key, a table in memory, and reading rows back
//! as a client of a scheme without privacy does.

use sotto_catalog::SigningKey;
use sotto_core::{Layer, Misuse, Record, Row, SchemeEntry, Section};
use sotto_db::ingest::{FileOptions, IngestError, IngestOptions, IngestProblem, SourceLayout};
use sotto_db::progress::silent;
use sotto_db::update::ChangeFile;
use sotto_db::{
    DbError, EncodeOptions, EncodeSummary, ImageFile, IngestedTable, TableDir, TableSource, UpdateOptions,
    UpdateSummary, encode_table, ingest, update_table,
};
use sotto_layers::Keyword;
use sotto_testkit::rng::seeded;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A table folder that is removed on drop.
pub(crate) fn folder() -> (TempDir, TableDir) {
    let temp = tempfile::tempdir().unwrap();
    let dir = TableDir::create(&temp.path().join("table")).unwrap();
    (temp, dir)
}

pub(crate) fn key() -> SigningKey {
    SigningKey::generate(&mut seeded("sotto-db tests"))
}

pub(crate) fn options(key: &SigningKey) -> EncodeOptions<'_> {
    EncodeOptions {
        lookups_per_client: 10,
        threads: Some(2),
        ..EncodeOptions::new("test".parse().unwrap(), key)
    }
}

/// A table in memory.
pub(crate) struct Memory {
    pub(crate) width: usize,
    pub(crate) bytes: Vec<u8>,
}

impl Memory {
    /// Rows that differ from each other and hold no zero byte.
    pub(crate) fn numbered(rows: usize, width: usize) -> Self {
        let bytes = (0..rows * width).map(|i| (i * 131 % 255) as u8 + 1).collect();
        Memory { width, bytes }
    }

    pub(crate) fn row(&self, row: usize) -> &[u8] {
        &self.bytes[row * self.width..][..self.width]
    }
}

impl TableSource for Memory {
    fn rows(&self) -> u64 {
        (self.bytes.len() / self.width) as u64
    }
    fn row_bytes(&self) -> usize {
        self.width
    }
    fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        let start = first as usize * self.width;
        let past_end = Misuse::IndexPastEnd { index: first, len: self.rows() };
        out.copy_from_slice(self.bytes.get(start..start + out.len()).ok_or(past_end)?);
        Ok(())
    }
}

/// Encodes a table as the folder's next epoch.
pub(crate) fn encode(
    dir: &TableDir,
    entry: &SchemeEntry,
    table: &dyn TableSource,
) -> Result<EncodeSummary, DbError> {
    encode_with(dir, entry, table, |_| ())
}

/// Encodes a table with changed options as the folder's next epoch.
pub(crate) fn encode_with(
    dir: &TableDir,
    entry: &SchemeEntry,
    table: &dyn TableSource,
    change: impl FnOnce(&mut EncodeOptions<'_>),
) -> Result<EncodeSummary, DbError> {
    let key = key();
    let mut options = options(&key);
    change(&mut options);
    encode_table(entry, table, &dir.lock()?, &options, &silent)
}

/// Updates the folder's table by a file of changes with this name and these contents.
pub(crate) fn update(
    dir: &TableDir,
    entry: &SchemeEntry,
    name: &str,
    lines: impl AsRef<[u8]>,
    changes: ChangeFile,
) -> Result<UpdateSummary, DbError> {
    let (scratch, key) = (tempfile::tempdir().unwrap(), key());
    let path = write(scratch.path(), name, lines);
    let options = UpdateOptions { changes, threads: Some(2), ..UpdateOptions::new(&key) };
    update_table(entry, &dir.lock()?, Some(&path), &options, &silent)
}

/// A line of a file of changes that gives a row these bytes.
pub(crate) fn change_line(row: u64, bytes: &[u8]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{row},{hex}\n")
}

/// Updates the folder's table by lines of row numbers and values.
pub(crate) fn update_rows(dir: &TableDir, entry: &SchemeEntry, lines: impl AsRef<[u8]>) -> UpdateSummary {
    update(dir, entry, "changes.csv", lines, ChangeFile::default()).unwrap()
}

/// Reads a file with this name and these contents into a table.
pub(crate) fn read(
    name: &str,
    bytes: impl AsRef<[u8]>,
    layout: SourceLayout,
) -> Result<IngestedTable, DbError> {
    let dir = tempfile::tempdir().unwrap();
    read_at(&write(dir.path(), name, bytes), layout)
}

/// Reads a file into a table.
pub(crate) fn read_at(path: &Path, layout: SourceLayout) -> Result<IngestedTable, DbError> {
    let scratch = tempfile::tempdir().unwrap();
    ingest(path, &IngestOptions { file: FileOptions::default(), layout }, scratch.path(), &silent)
}

/// Value of a key that is stored in one of several of these rows.
pub(crate) fn value_of(keyword: &Keyword, rows: &[u8], key: &str) -> Option<String> {
    let width = keyword.params().row_bytes() as usize;
    let key = keyword.params().form.canonical(key.as_bytes()).unwrap();
    let (expected, plan) = keyword.plan(&key, &mut seeded("keys")).unwrap();
    let expected = expected.iter().map(|row| Row::new(rows[*row as usize * width..][..width].to_vec()));
    let value = keyword.assemble(plan, expected.collect()).unwrap();
    value.map(|value| String::from_utf8(value.to_vec()).unwrap())
}

/// Keyword layer of a table that was read from a file.
pub(crate) fn keyword_of(table: &IngestedTable) -> Keyword {
    let [layer] = &table.layers[..] else { panic!("one layer") };
    Keyword::parse(layer.params.to_string().as_bytes()).unwrap()
}

/// Value of a key of a table that was read from a file.
pub(crate) fn get(table: &IngestedTable, key: &str) -> Option<String> {
    value_of(&keyword_of(table), &all(table.table.as_ref()), key)
}

/// All rows of an image whose resident section is its records, one after the other.
pub(crate) fn rows_of(image: &ImageFile, entry: &SchemeEntry) -> Vec<u8> {
    use sotto_core::Image;
    let packing = image.catalog().terms(entry).unwrap().packing;
    let resident = image.section(Section::Resident).unwrap();
    let step = packing.record_bytes() as usize;
    let mut rows = Vec::new();
    for row in 0..packing.rows() {
        let records = packing.records_of(row);
        let record = |i: u64| Record::new(resident[i as usize * step..][..step].to_vec());
        let records: Vec<_> = records.iter().map(|index| record(index.0)).collect();
        rows.extend(packing.extract(row, &records).unwrap());
    }
    rows
}

/// All rows of a table.
pub(crate) fn all(table: &dyn TableSource) -> Vec<u8> {
    let mut rows = vec![0; table.rows() as usize * table.row_bytes()];
    table.read(0, &mut rows).unwrap();
    rows
}

/// Writes a file into a folder.
pub(crate) fn write(dir: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// The names in a folder, sorted.
pub(crate) fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = entries.collect();
    names.sort();
    names
}

/// The ingestion error inside an error.
pub(crate) fn complaint(error: DbError) -> IngestError {
    match error {
        DbError::Ingest(error) => *error,
        other => panic!("not about source data: {other}"),
    }
}

/// Line, column number and problem of an error.
pub(crate) fn place(error: DbError) -> (u64, Option<usize>, IngestProblem) {
    let error = complaint(error);
    (error.line, error.column.and_then(|column| column.number), error.problem)
}

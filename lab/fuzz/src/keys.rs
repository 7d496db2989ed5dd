//! Keyword tables that change: files of changed keys, and the file of rows that is kept for them.

use crate::image::{KEY, folder};
use sotto_catalog::Catalog;
use sotto_core::Epoch;
use sotto_db::ingest::{
    ColumnSelector, FileOptions, IngestOptions, KeywordOptions, SourceFormat, SourceLayout, ValueOptions,
};
use sotto_db::sidecars::{SOURCE, WriteCounts};
use sotto_db::{
    ChangeFile, DbError, EncodeOptions, TableDir, UpdateOptions, encode_table, ingest::ingest, update_table,
};
use sotto_layers::keyword::KeyForm;
use sotto_prg::PublicSeed;
use sotto_registry::SCHEMES;
use std::fs;
use std::sync::LazyLock;

/// An image of ten keys, and the rows that are kept beside it.
static SEED: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
    let folder = folder();
    let dir = TableDir::create(&folder.path().join("t")).unwrap();
    let source = folder.path().join("t.csv");
    fs::write(&source, (0..10).map(|i| format!("key {i},{i}\n")).collect::<String>()).unwrap();
    let layout = SourceLayout::Keyword(KeywordOptions {
        key: ColumnSelector::Number(1),
        form: KeyForm::Text,
        value: Some(ColumnSelector::Number(2)),
        values: ValueOptions { width: Some(3), ..ValueOptions::default() },
        headroom: 0,
        probes: None,
        slots: None,
        bands: Default::default(),
        costing: None,
        seed: PublicSeed([7; 32]),
    });
    let options = IngestOptions { file: FileOptions::default(), layout };
    let read = ingest(&source, &options, folder.path(), &|_| ()).unwrap();
    let options = EncodeOptions {
        kind: read.kind,
        value: read.value,
        layers: read.layers,
        threads: Some(1),
        ..EncodeOptions::new("t".parse().unwrap(), &KEY)
    };
    encode_table(SCHEMES[0], read.table.as_ref(), &dir.lock().unwrap(), &options, &|_| ()).unwrap();
    [dir.image_path(Epoch(1)), dir.rows_path(Epoch(1))].map(|path| fs::read(path).unwrap())
});

/// Changed keys of a table: keys, values, and which of them go.
pub(crate) fn update_keys(data: &[u8]) -> bool {
    update(data, &SEED[1])
}

pub(crate) fn key_changes() -> Vec<Vec<u8>> {
    vec![b"key 1,7,\nkey 2,,yes\nnew,1,0\n".to_vec(), b"\"key 3\",777,no".to_vec()]
}

/// The rows that an update starts from. Mutated ones are also given their own digest: what a careless writer could have made.
pub(crate) fn kept_rows(data: &[u8]) -> bool {
    let mut digested = data.to_vec();
    if let Some((header, rows)) = digested.split_at_mut_checked(80) {
        header[48..].copy_from_slice(blake3::hash(rows).as_bytes());
    }
    update(b"key 1,9,\n", data) | update(b"key 1,9,\nnew,1,\nkey 2,,1\n", &digested)
}

/// Rows of the table.
pub(crate) fn keepings() -> Vec<Vec<u8>> {
    vec![SEED[1].clone()]
}

/// The catalog of that image.
static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    let folder = folder();
    let dir = TableDir::open(folder.path()).unwrap();
    fs::write(dir.image_path(Epoch(1)), &SEED[0]).unwrap();
    dir.open_latest().unwrap().catalog().clone()
});

/// How much was written of a table under its mask.
pub(crate) fn table_written(data: &[u8]) -> bool {
    let folder = folder();
    let dir = TableDir::open(folder.path()).expect("a temporary folder");
    fs::write(dir.write_counts_path(Epoch(1)), data).expect("a temporary file");
    match WriteCounts::read(&dir, &CATALOG) {
        Ok(read) => read.is_some(),
        Err(error) => panic!("content gave {error}"),
    }
}

/// Counts of that image's epoch.
pub(crate) fn writtens() -> Vec<Vec<u8>> {
    let catalog = CATALOG.digest().unwrap();
    let text =
        |columns| format!(r#"{{"format":"sotto-written/1","catalog":"{catalog}","columns":{columns}}}"#);
    ["[]", "[[0,1],[17,2]]", "[[3,1],[3,18446744073709551615]]"].map(text).map(String::into_bytes).to_vec()
}

/// What is kept of a table's source.
pub(crate) fn table_source(data: &[u8]) -> bool {
    let folder = folder();
    fs::write(folder.path().join(SOURCE), data).expect("a temporary file");
    let dir = TableDir::open(folder.path()).expect("a temporary folder");
    match dir.origin() {
        Ok(read) => read.is_some(),
        Err(error @ DbError::Io { .. }) => panic!("content gave {error}"),
        Err(_) => false,
    }
}

/// Of a table with names, and of one without.
pub(crate) fn sources() -> Vec<Vec<u8>> {
    let named = &b"{\"format\":\"sotto-source/1\",\"key\":\"word\",\"value\":\"meaning\",\"whole\":true}"[..];
    [named, b"{\"format\":\"sotto-source/1\"}\n"].map(<[u8]>::to_vec).to_vec()
}

fn update(changes: &[u8], rows: &[u8]) -> bool {
    let folder = folder();
    let dir = TableDir::create(&folder.path().join("t")).expect("a temporary folder");
    fs::write(dir.image_path(Epoch(1)), &SEED[0]).expect("a temporary file");
    fs::write(dir.rows_path(Epoch(1)), rows).expect("a temporary file");
    let path = folder.path().join("changes.csv");
    fs::write(&path, changes).expect("a temporary file");
    let lock = dir.lock().expect("nobody else writes here");
    let file = FileOptions { format: Some(SourceFormat::Csv), ..FileOptions::default() };
    let columns = Some(vec![ColumnSelector::Number(1), ColumnSelector::Number(2)]);
    let delete = Some(ColumnSelector::Number(3));
    let changes = ChangeFile { file, columns, delete, encoding: None };
    let options = UpdateOptions { changes, threads: Some(1), ..UpdateOptions::new(&KEY) };
    let taken = match update_table(SCHEMES[0], &lock, &path, &options, &|_| ()) {
        Ok(_) => true,
        Err(error @ (DbError::Io { .. } | DbError::DiskFull { .. })) => panic!("content gave {error}"),
        Err(_) => false,
    };
    let epochs = dir.epochs().expect("a readable folder").len();
    assert_eq!(epochs, 1 + usize::from(taken), "a refused update leaves one epoch");
    assert!(dir.rows_path(Epoch(epochs as u64)).exists(), "the newest epoch has its rows");
    taken
}

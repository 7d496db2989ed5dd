//! Source files: every format, into index and range tables, and files of changes. What is taken can be
//! read from its first row to its last. And keyword tables that change: the rows, the source and the
//! counts of writes that are kept beside them.

use crate::image::{KEY, SEED, folder};
use parquet::data_type::{ByteArrayType, Int64Type};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use sotto_catalog::{Catalog, KeyKind, ValueKind};
use sotto_core::Epoch;
use sotto_db::ingest::{
    ColumnSelector, FileOptions, IndexOptions, IngestOptions, KeywordOptions, RangeOptions, SourceFormat,
    SourceLayout, ValueOptions,
};
use sotto_db::sidecars::{SOURCE, WriteCounts};
use sotto_db::{ChangeFile, DbError, EncodeOptions, TableDir, UpdateOptions, encode_table, update_table};
use sotto_layers::keyword::KeyForm;
use sotto_prg::PublicSeed;
use sotto_registry::SCHEMES;
use std::io::Write;
use std::sync::{Arc, LazyLock};
use std::{fs, io};

/// CSV, with a row's number and its value.
pub(crate) fn ingest_csv(data: &[u8]) -> bool {
    let numbered = ingest("t.csv", data, index(ColumnSelector::Number(2), Some(ColumnSelector::Number(1))));
    numbered | ingest("t.csv", data, index(ColumnSelector::Number(1), None))
}

/// Lines, quoted and plain.
pub(crate) fn csvs() -> Vec<Vec<u8>> {
    [&b"0,a\n1,\"b,\"\"c\"\"\"\r\n2,dd\n"[..], b"\xEF\xBB\xBF7,x\n", "0,\u{e9}\n3,b".as_bytes()]
        .map(<[u8]>::to_vec)
        .to_vec()
}

/// Compressed CSV.
pub(crate) fn ingest_compressed(data: &[u8]) -> bool {
    let plain = || index(ColumnSelector::Number(1), None);
    ingest("t.csv.gz", data, plain()) | ingest("t.csv.zst", data, plain())
}

/// Seeds in both compressions.
pub(crate) fn compressed() -> Vec<Vec<u8>> {
    let text = b"some,text\n".repeat(20);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&text).unwrap();
    vec![gzip.finish().unwrap(), zstd::encode_all(io::Cursor::new(&text), 1).unwrap()]
}

/// JSON lines, with a row's number and its value.
pub(crate) fn ingest_jsonl(data: &[u8]) -> bool {
    ingest(
        "t.jsonl",
        data,
        index(ColumnSelector::Name("value".into()), Some(ColumnSelector::Name("row".into()))),
    )
}

/// Objects, one to a line.
pub(crate) fn jsonls() -> Vec<Vec<u8>> {
    vec![
        b"{\"row\":0,\"value\":\"a\"}\n{\"value\":\"\\u00e9\\n\",\"row\":2,\"more\":[1,{}]}\n".to_vec(),
        b"{\"row\": 1, \"value\": \"\"}".to_vec(),
    ]
}

/// Parquet.
pub(crate) fn ingest_parquet(data: &[u8]) -> bool {
    ingest(
        "t.parquet",
        data,
        index(ColumnSelector::Name("value".into()), Some(ColumnSelector::Name("row".into()))),
    )
}

/// A file of two columns.
pub(crate) fn parquets() -> Vec<Vec<u8>> {
    let schema =
        parse_message_type("message t { required int64 row; required binary value (UTF8); }").unwrap();
    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut file, Arc::new(schema), Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&[0, 1, 2], None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<ByteArrayType>().write_batch(&["a".into(), "bb".into(), "c".into()], None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    vec![file]
}

/// Ranges of keys and of addresses.
pub(crate) fn ingest_ranges(data: &[u8]) -> bool {
    let range = |key, block| {
        let options = RangeOptions { last: Some(1 << 20), ..RangeOptions::new(key, block) };
        ingest("t.csv", data, SourceLayout::Range(options))
    };
    range(KeyKind::Ipv4, 256) | range(KeyKind::U32, 1000)
}

/// Ranges in both ways to write them.
pub(crate) fn ranges() -> Vec<Vec<u8>> {
    vec![
        b"0,255,AA\n256,1023,B\n4096,4096,\n".to_vec(),
        b"0.0.0.0,0.0.0.255,AA\n0.0.1.0,0.0.3.255,\"B\"\n".to_vec(),
    ]
}

/// Fixed-width rows.
pub(crate) fn ingest_raw(data: &[u8]) -> bool {
    ingest("t.bin", data, SourceLayout::Raw { row_bytes: 3, value: ValueKind::Bytes })
}

pub(crate) fn raws() -> Vec<Vec<u8>> {
    vec![b"abcdefghi".to_vec()]
}

/// Changed rows of a table.
pub(crate) fn update_changes(data: &[u8]) -> bool {
    update(&SEED, None, data)
}

pub(crate) fn changes() -> Vec<Vec<u8>> {
    vec![b"0,AA\n63,01\n".to_vec(), b"5,ff".to_vec()]
}

fn index(value: ColumnSelector, row: Option<ColumnSelector>) -> SourceLayout {
    SourceLayout::Index(IndexOptions { value, row, values: ValueOptions::default() })
}

fn ingest(name: &str, data: &[u8], layout: SourceLayout) -> bool {
    let folder = folder();
    let path = folder.path().join(name);
    fs::write(&path, data).expect("a temporary file");
    let options = IngestOptions { file: FileOptions::default(), layout };
    let Some(read) = judge(sotto_db::ingest::ingest(&path, &options, folder.path(), &|_| ())) else {
        return false;
    };
    let (rows, width) = (read.table.rows(), read.table.row_bytes());
    assert!(rows > 0 && width > 0, "an empty table was taken");
    for row in [0, rows / 2, rows - 1] {
        read.table.read(row, &mut vec![0; width]).expect("a row that is there");
    }
    assert!(read.table.read(rows, &mut vec![0; width]).is_err(), "a row past the end was read");
    true
}

/// A refusal is about the file's content: content must not be able to fill a disk.
fn judge<T>(result: sotto_db::Result<T>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error @ (DbError::Io { .. } | DbError::DiskFull { .. })) => panic!("content gave {error}"),
        Err(_) => None,
    }
}

/// Applies changes to a table; one of keys has its rows beside it, and a column that says which keys go.
fn update(image: &[u8], rows: Option<&[u8]>, changes: &[u8]) -> bool {
    let folder = folder();
    let dir = TableDir::create(&folder.path().join("t")).expect("a temporary folder");
    fs::write(dir.image_path(Epoch(1)), image).expect("a temporary file");
    let file = FileOptions { format: Some(SourceFormat::Csv), ..FileOptions::default() };
    let mut columns = ChangeFile { file, ..ChangeFile::default() };
    if let Some(rows) = rows {
        fs::write(dir.rows_path(Epoch(1)), rows).expect("a temporary file");
        columns.columns = Some(vec![ColumnSelector::Number(1), ColumnSelector::Number(2)]);
        columns.delete = Some(ColumnSelector::Number(3));
    }
    let path = folder.path().join("changes.csv");
    fs::write(&path, changes).expect("a temporary file");
    let lock = dir.lock().expect("nobody else writes here");
    let options = UpdateOptions { changes: columns, threads: Some(1), ..UpdateOptions::new(&KEY) };
    let taken = judge(update_table(SCHEMES[0], &lock, Some(&path), &options, &|_| ())).is_some();
    let epochs = dir.epochs().expect("a readable folder").len();
    assert_eq!(epochs, 1 + usize::from(taken), "a refused update leaves one epoch");
    assert!(rows.is_none() || dir.rows_path(Epoch(epochs as u64)).exists(), "the newest epoch has its rows");
    taken
}

/// An image of ten keys, and the rows that are kept beside it.
static KEYED: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
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
    let read = sotto_db::ingest::ingest(&source, &options, folder.path(), &|_| ()).unwrap();
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
    update(&KEYED[0], Some(&KEYED[1]), data)
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
    let update = |changes: &str, rows| update(&KEYED[0], Some(rows), changes.as_bytes());
    update("key 1,9,\n", data) | update("key 1,9,\nnew,1,\nkey 2,,1\n", &digested)
}

/// Rows of the table.
pub(crate) fn keepings() -> Vec<Vec<u8>> {
    vec![KEYED[1].clone()]
}

/// The catalog of that image.
static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    let folder = folder();
    let dir = TableDir::open(folder.path()).unwrap();
    fs::write(dir.image_path(Epoch(1)), &KEYED[0]).unwrap();
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

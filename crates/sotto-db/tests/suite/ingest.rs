//! Every format gives the same table, and every error in a file is reported with line and column.

use crate::common::{all, complaint, place, write};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use sotto_catalog::ValueKind;
use sotto_db::ingest::{
    ColumnSelector, Encoding, FileOptions, IndexOptions, IngestOptions, IngestProblem, Notes, SourceLayout,
    ValueOptions,
};
use sotto_db::progress::silent;
use sotto_db::{DbError, IngestedTable, ingest};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

const ROWS: [&str; 5] = ["alpha", "be", "", "gämma", "de,lta"];

fn scratch() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn column(text: &str) -> ColumnSelector {
    text.parse().unwrap()
}

fn index(value: &str, row: Option<&str>, encoding: Encoding, width: Option<usize>) -> IngestOptions {
    IngestOptions {
        file: FileOptions::default(),
        layout: SourceLayout::Index(IndexOptions {
            value: column(value),
            row: row.map(column),
            values: ValueOptions { encoding, width, null: None },
        }),
    }
}

fn read(path: &Path, options: &IngestOptions) -> Result<IngestedTable, DbError> {
    ingest(path, options, path.parent().unwrap(), &silent)
}

/// Reads a CSV file of text values in its second column, row numbers in its first.
fn csv(text: impl AsRef<[u8]>) -> Result<IngestedTable, DbError> {
    let dir = scratch();
    read(&write(dir.path(), "t.csv", text), &index("2", Some("1"), Encoding::Text, Some(4)))
}

fn csv_fault(text: impl AsRef<[u8]>) -> (u64, Option<usize>, IngestProblem) {
    place(csv(text).map(drop).unwrap_err())
}

/// `ROWS`, padded to the longest.
fn expected() -> Vec<u8> {
    ROWS.iter()
        .flat_map(|text| {
            let mut row = text.as_bytes().to_vec();
            row.resize(6, 0);
            row
        })
        .collect()
}

fn csv_text() -> String {
    let line = |text: &&str| format!("x,\"{text}\"\n");
    "id,name\n".to_owned() + &ROWS.iter().map(line).collect::<String>()
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn parquet_file(path: &Path, row_group: usize) {
    let schema = "message t { REQUIRED INT32 id; REQUIRED BINARY name (UTF8); OPTIONAL INT64 n; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = std::fs::File::create(path).unwrap();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(file, schema, properties).unwrap();
    let names: Vec<_> = ROWS.iter().map(|text| ByteArray::from(*text)).collect();
    for (group, names) in names.chunks(row_group).enumerate() {
        let ids: Vec<_> = (0..names.len()).map(|i| 4 - (group * row_group + i) as i32).collect();
        let mut rows = writer.next_row_group().unwrap();
        let mut column = rows.next_column().unwrap().unwrap();
        column.typed::<Int32Type>().write_batch(&ids, None, None).unwrap();
        column.close().unwrap();
        let mut column = rows.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(names, None, None).unwrap();
        column.close().unwrap();
        let mut column = rows.next_column().unwrap().unwrap();
        let numbers: Vec<_> =
            ids.iter().filter(|id| **id != 0).map(|&id| i64::from(id) * 1000 - 1000).collect();
        let levels: Vec<_> = ids.iter().map(|id| i16::from(*id != 0)).collect();
        column.typed::<Int64Type>().write_batch(&numbers, Some(&levels), None).unwrap();
        column.close().unwrap();
        rows.close().unwrap();
    }
    writer.close().unwrap();
}

#[test]
fn every_format_gives_the_same_table() {
    let dir = scratch();
    let at = dir.path();
    let text = csv_text();
    let jsonl: String =
        ROWS.iter().map(|t| serde_json::json!({"id": 1, "name": t}).to_string() + "\n").collect();
    let arrays: String = ROWS.iter().map(|t| serde_json::json!([null, t]).to_string() + "\r\n").collect();
    parquet_file(&at.join("t.parquet"), 2);
    let zst = zstd::encode_all(text.as_bytes(), 1).unwrap();
    // A gzip file may consist of several members.
    let (a, b) = text.as_bytes().split_at(20);
    let gzs = [gz(a), gz(b)].concat();
    let files = vec![
        (write(at, "t.csv", &text), "name"),
        (write(at, "t.csv.gz", gzs), "name"),
        (write(at, "t.csv.zst", zst), "2"),
        (write(at, "t.jsonl", &jsonl), "name"),
        (write(at, "arrays.jsonl.gz", gz(arrays.as_bytes())), "2"),
        (at.join("t.parquet"), "name"),
        (at.join("t.parquet"), "2"),
    ];
    for (path, value) in files {
        let mut options = index(value, None, Encoding::Text, None);
        options.file.header = Some(path.to_str().unwrap().contains(".csv"));
        let table = read(&path, &options).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(all(&*table.table), expected(), "{}", path.display());
        assert_eq!(table.value, ValueKind::Text);
        assert_eq!(table.notes, Notes { lines: 5, ..Notes::default() });
    }
    for (name, bytes) in [
        ("t.bin", expected()),
        ("t.bin.gz", gz(&expected())),
        ("t.bin.zst", zstd::encode_all(expected().as_slice(), 1).unwrap()),
    ] {
        let layout = SourceLayout::Raw { row_bytes: 6, value: ValueKind::Text };
        let options = IngestOptions { file: FileOptions::default(), layout };
        let table = read(&write(at, name, bytes), &options).unwrap();
        assert_eq!(all(&*table.table), expected(), "{name}");
    }
    assert!(!crate::common::names(at).iter().any(|name| name.starts_with('.')), "temporary files go away");
}

#[test]
fn plain_rows_may_begin_like_a_compressed_file() {
    let dir = scratch();
    let bytes = [0x1f, 0x8b, 8, 0];
    let layout = SourceLayout::Raw { row_bytes: 2, value: ValueKind::Bytes };
    let options = IngestOptions { file: FileOptions::default(), layout };
    assert_eq!(all(&*read(&write(dir.path(), "t.bin", bytes), &options).unwrap().table), bytes);
}

#[test]
fn rows_by_number_in_any_order() {
    let table = csv("3,d\n0,a\n1,b\n6,g\n").unwrap();
    assert_eq!(all(&*table.table), b"a\0\0\0b\0\0\0\0\0\0\0d\0\0\0\0\0\0\0\0\0\0\0g\0\0\0");
    assert_eq!(table.notes, Notes { lines: 4, missing_rows: 3, ..Notes::default() });

    let dir = scratch();
    let path = dir.path().join("t.parquet");
    parquet_file(&path, 3);
    let table = read(&path, &index("name", Some("id"), Encoding::Text, None)).unwrap();
    let backwards: Vec<u8> = expected().chunks(6).rev().flatten().copied().collect();
    assert_eq!(all(&*table.table), backwards);
}

#[test]
fn encodings() {
    let dir = scratch();
    let read = |text: &str, encoding: &str| {
        let path = write(dir.path(), "t.csv", text);
        read(&path, &index("1", None, encoding.parse().unwrap(), None)).map(|table| all(&*table.table))
    };
    // Values of different lengths each follow their length.
    assert_eq!(read("00ff\nAb\n", "hex").unwrap(), [2, 0, 255, 1, 0xab, 0]);
    assert_eq!(read("00ff\nAb00\n", "hex").unwrap(), [0, 255, 0xab, 0]);
    assert_eq!(read("AP8=\n/w==\n", "base64").unwrap(), [2, 0, 255, 1, 255, 0]);
    assert_eq!(read("1\n 513 \n", "u16").unwrap(), [1, 0, 1, 2]);
    assert_eq!(read("255\n", "u8").unwrap(), [255]);
    assert_eq!(read("18446744073709551615\n", "u64").unwrap(), [255; 8]);
    assert_eq!(read("é\n", "text").unwrap(), "é".as_bytes());
    for (text, encoding) in [
        ("0", "hex"),
        ("0g", "hex"),
        ("AP8", "base64"),
        ("A*8=", "base64"),
        ("-1", "u16"),
        ("1.5", "u32"),
        ("0x10", "u32"),
        ("18446744073709551616", "u64"),
    ] {
        let (line, column, problem) = place(read(&format!("\n{text}\n"), encoding).unwrap_err());
        assert_eq!((line, column), (2, Some(1)), "{text}");
        assert!(matches!(problem, IngestProblem::Kind { .. }), "{text}: {problem}");
    }
    let (.., problem) = place(read("256\n", "u8").unwrap_err());
    assert!(matches!(problem, IngestProblem::TooLong { bytes: 2, width: 1 }));
    assert!("u128".parse::<Encoding>().is_err());
}

#[test]
fn a_short_row() {
    let (line, column, problem) = csv_fault("0,a\n1\n2,c\n");
    assert_eq!((line, column), (2, None));
    assert!(matches!(problem, IngestProblem::Columns { expected: 2, found: 1 }));
    let (line, _, problem) = csv_fault("0,a\n\n\n1,b,c\n");
    assert_eq!(line, 4, "empty lines are skipped, and counted");
    assert!(matches!(problem, IngestProblem::Columns { expected: 2, found: 3 }));
}

#[test]
fn a_quote_that_is_never_closed() {
    let (line, _, problem) = csv_fault("0,a\n1,\"b\n2,c\n3,d\n");
    let why = "not valid CSV: a quote that opens on this line is never closed";
    assert_eq!((line, problem.to_string()), (2, why.into()));
    assert!(csv("0,a\n1,5\"").is_ok(), "a quote inside a value is one of its characters");
}

#[test]
fn line_ends_of_either_kind() {
    for (text, at) in [("0,a\r\n\r\n1,abcde\r\n", 3), ("0,a\n1,abcde", 2), ("\n\n0,abcde\n", 3)] {
        assert!(
            matches!(csv_fault(text), (line, Some(2), IngestProblem::TooLong { .. }) if line == at),
            "{text:?}"
        );
    }
    assert_eq!(all(&*csv("0,a\r\n1,b\r\n").unwrap().table), b"a\0\0\0b\0\0\0");
}

#[test]
fn a_value_that_is_too_long() {
    let error = complaint(csv("0,abcd\n1,\"ab\ncd\"\n").map(drop).unwrap_err());
    assert!(
        error.to_string().ends_with(
            "t.csv, line 2, column 2: the value has 5 bytes, a row has 4: give a larger \
    width, or shorten the value"
        ),
        "{error}"
    );
    // The line after a value that contains a line break.
    let (line, column, problem) = csv_fault("0,\"a\nb\"\n1,abcde\n");
    assert_eq!((line, column), (3, Some(2)));
    assert!(matches!(problem, IngestProblem::TooLong { bytes: 5, width: 4 }));
}

#[test]
fn text_that_is_not_utf8() {
    let (line, column, problem) = csv_fault(b"0,ok\n1,a\xff\n");
    assert_eq!((line, column), (2, Some(2)));
    assert!(matches!(problem, IngestProblem::Utf8 { at: 1 }));
    // The same bytes are fine as bytes.
    let dir = scratch();
    let path = write(dir.path(), "t.csv", b"a\xff\n");
    assert_eq!(all(&*read(&path, &index("1", None, Encoding::Raw, None)).unwrap().table), b"a\xff");
}

#[test]
fn text_with_a_zero_byte() {
    assert!(matches!(csv_fault(b"0,a\0\n"), (1, Some(2), IngestProblem::ZeroByte)));
}

#[test]
fn bad_row_numbers() {
    assert!(matches!(csv_fault("0,a\nx,b\n"), (2, Some(1), IngestProblem::Kind { .. })));
    assert!(matches!(csv_fault("0,a\n,b\n"), (2, Some(1), IngestProblem::Missing)));
    assert!(matches!(csv_fault("5,a\n6,b\n5,c\n"), (3, Some(1), IngestProblem::Duplicate { row: 5 })));
    assert!(matches!(csv_fault("1099511627776,a\n"), (1, Some(1), IngestProblem::RowTooLarge { .. })));
}

#[test]
fn what_is_no_file_has_no_second_pass() {
    let dir = scratch();
    let mut options = index("1", None, Encoding::Text, None);
    options.file.format = Some(sotto_db::ingest::SourceFormat::Csv);
    let error = ingest(Path::new("/dev/null"), &options, dir.path(), &silent).map(drop).unwrap_err();
    assert!(error.to_string().contains("give the number of bytes of a row"), "{error}");
}

#[test]
fn rows_past_the_end_of_any_file() {
    let dir = scratch();
    let path = write(dir.path(), "t.csv", format!("{},a\n", (1u64 << 40) - 1));
    let options = index("2", Some("1"), Encoding::Text, Some(1 << 26));
    let (line, column, problem) = place(read(&path, &options).map(drop).unwrap_err());
    assert_eq!((line, column), (1, Some(1)));
    assert!(matches!(problem, IngestProblem::RowTooLarge { last, .. } if last == (1 << 37) - 2), "{problem}");
}

#[test]
fn columns_that_are_not_there() {
    let dir = scratch();
    let path = write(dir.path(), "t.csv", "id,name\n1,a\n");
    let fault = |value: &str| {
        complaint(read(&path, &index(value, None, Encoding::Text, None)).map(drop).unwrap_err())
    };
    assert!(
        fault("nome").to_string().ends_with("column \"nome\": no such column; the columns are: id, name")
    );
    assert!(
        fault("3").to_string().ends_with("column 3: no such column; the columns are: 1 to 2, and no header")
    );
    assert!(matches!(fault("0").problem, IngestProblem::NoColumn { .. }));
    let parquet = dir.path().join("t.parquet");
    parquet_file(&parquet, 9);
    let error = complaint(read(&parquet, &index("nome", None, Encoding::Text, None)).map(drop).unwrap_err());
    assert!(matches!(error.problem, IngestProblem::NoColumn(there) if there == "id, name, n"));
}

#[test]
fn other_delimiters() {
    let dir = scratch();
    let path = write(dir.path(), "t.csv", "0;a,b\n");
    let mut options = index("2", None, Encoding::Text, None);
    options.file.delimiter = Some(b';');
    assert_eq!(all(&*read(&path, &options).unwrap().table), b"a,b");
}

#[test]
fn files_without_rows() {
    let dir = scratch();
    let fault = |name: &str, options: &IngestOptions| {
        place(read(&dir.path().join(name), options).map(drop).unwrap_err()).2
    };
    for (name, value, text) in [("a.csv", "1", ""), ("b.csv", "name", "name\n"), ("c.jsonl", "name", "\n\n")]
    {
        write(dir.path(), name, text);
        for width in [None, Some(4)] {
            let problem = fault(name, &index(value, None, Encoding::Text, width));
            assert!(matches!(problem, IngestProblem::Empty), "{name}: {problem}");
        }
    }
    let raw = |row_bytes| IngestOptions {
        file: FileOptions::default(),
        layout: SourceLayout::Raw { row_bytes, value: ValueKind::Bytes },
    };
    write(dir.path(), "d.bin", "");
    assert!(matches!(fault("d.bin", &raw(3)), IngestProblem::Empty));
    write(dir.path(), "d.bin", "abcd");
    assert!(matches!(fault("d.bin", &raw(3)), IngestProblem::PartialRow { bytes: 4, width: 3 }));
    write(dir.path(), "d.bin.gz", gz(b"abcd"));
    assert!(matches!(fault("d.bin.gz", &raw(3)), IngestProblem::PartialRow { bytes: 4, width: 3 }));
    assert!(matches!(fault("d.bin", &raw(0)), IngestProblem::Options(_)));
    assert!(matches!(fault("none.bin", &raw(1)), IngestProblem::Read(_)));
    assert!(matches!(fault("none.csv", &index("1", None, Encoding::Text, None)), IngestProblem::Read(_)));
    assert!(matches!(fault("d.bin", &index("1", None, Encoding::Text, None)), IngestProblem::Options(_)));
}

#[test]
fn damaged_files() {
    let dir = scratch();
    let whole = gz(csv_text().repeat(1000).as_bytes());
    let path = write(dir.path(), "cut.csv.gz", &whole[..whole.len() / 2]);
    let (line, _, problem) =
        place(read(&path, &index("2", None, Encoding::Text, None)).map(drop).unwrap_err());
    assert!(line > 0 && matches!(problem, IngestProblem::Read(_)), "{line} {problem}");

    let parquet = dir.path().join("t.parquet");
    parquet_file(&parquet, 9);
    let bytes = std::fs::read(&parquet).unwrap();
    for length in [0, 3, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&parquet, &bytes[..length]).unwrap();
        let error = complaint(read(&parquet, &index("2", None, Encoding::Text, None)).map(drop).unwrap_err());
        assert!(
            matches!(error.problem, IngestProblem::Format { format: "Parquet", .. }),
            "{length}: {error}"
        );
    }
}

#[test]
fn bad_json() {
    let dir = scratch();
    let fault = |text: &str, value: &str, encoding| {
        let path = write(dir.path(), "t.jsonl", text);
        let error = complaint(read(&path, &index(value, None, encoding, Some(8))).map(drop).unwrap_err());
        (error.line, error.column.and_then(|column| column.name), error.problem)
    };
    let text = Encoding::Text;
    let (line, _, problem) = fault("{\"v\":\"a\"}\n\n{\"v\": x}\n", "v", text);
    assert_eq!(
        (line, problem.to_string()),
        (3, "not valid JSON: expected value, at byte 7 of the line".into())
    );
    let name = Some("v".to_owned());
    assert!(matches!(fault("{}\n", "v", text), (1, n, IngestProblem::Missing) if n == name));
    assert!(matches!(fault("{\"v\":null}\n", "v", text), (1, n, IngestProblem::Null) if n == name));
    for bad in ["true", "[1]", "{\"a\":1}", "1.5", "-1"] {
        let (line, column, problem) = fault(&format!("{{\"v\":{bad}}}\n"), "v", Encoding::Unsigned(4));
        assert_eq!((line, column), (1, name.clone()));
        assert!(matches!(problem, IngestProblem::Kind { .. }), "{bad}: {problem}");
    }
    for (line, value) in [("[1]", "v"), ("{\"v\":1}", "1"), ("3", "v")] {
        assert!(matches!(fault(line, value, text), (1, None, IngestProblem::Options(_))), "{line}");
    }
}

#[test]
fn numbers_of_parquet_and_json() {
    let dir = scratch();
    let path = write(dir.path(), "t.jsonl", "{\"v\": 513}\n{\"v\": \"2\"}\n");
    let table = read(&path, &index("v", None, Encoding::Unsigned(2), None)).unwrap();
    assert_eq!((all(&*table.table), table.value), (vec![1, 2, 2, 0], ValueKind::Unsigned));

    let path = dir.path().join("t.parquet");
    parquet_file(&path, 9);
    let table = read(&path, &index("id", None, Encoding::Unsigned(1), None)).unwrap();
    assert_eq!(all(&*table.table), [4, 3, 2, 1, 0]);
    let table = read(&path, &index("id", None, Encoding::Text, None)).unwrap();
    assert_eq!(all(&*table.table), b"43210");
    let mut options = index("n", None, Encoding::Unsigned(8), None);
    let error = complaint(read(&path, &options).map(drop).unwrap_err());
    let (said, column) = (error.to_string(), error.column.and_then(|column| column.number));
    assert_eq!((error.line, column), (5, Some(3)), "an absent value");
    assert!(matches!(error.problem, IngestProblem::Null));
    assert!(
        said.contains("t.parquet, row 5 (counted from 1), column `n`: ") && said.contains("--null"),
        "{said}"
    );
    let SourceLayout::Index(of_index) = &mut options.layout else { panic!("an index table") };
    of_index.values.null = Some("77".to_owned());
    let rows = all(&*read(&path, &options).unwrap().table);
    assert_eq!(rows[4 * 8..], 77u64.to_le_bytes(), "what stands for a null");
}

#[test]
fn what_is_not_compressed_as_its_name_says_is_said_to_be_none() {
    let dir = scratch();
    for (name, format) in [("t.csv.gz", "not a gzip file"), ("t.csv.ZST", "not a Zstandard file")] {
        let path = write(dir.path(), name, "a\n");
        let said = complaint(read(&path, &index("1", None, Encoding::Text, None)).map(drop).unwrap_err())
            .to_string();
        assert!(said.contains(format) && said.contains("from its name"), "{said}");
    }
}

#[test]
fn progress_reaches_the_end() {
    use std::sync::Mutex;
    let dir = scratch();
    let text: String = (0..200_000).map(|i| format!("{i},v{}\n", i % 100)).collect();
    let path = write(dir.path(), "t.csv.gz", gz(text.as_bytes()));
    let seen = Mutex::new(Vec::new());
    let watch = |progress: sotto_db::Progress| seen.lock().unwrap().push(progress);
    ingest(&path, &index("2", Some("1"), Encoding::Text, Some(3)), dir.path(), &watch).unwrap();
    let seen = seen.into_inner().unwrap();
    let total = std::fs::metadata(&path).unwrap().len();
    assert!(seen.len() > 5 && seen.iter().all(|progress| progress.total == total && progress.done <= total));
    assert!(seen.is_sorted_by_key(|progress| progress.done));
}

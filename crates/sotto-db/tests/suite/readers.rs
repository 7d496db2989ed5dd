//! Ambiguous contents of users' files that no reader may misread, in every format and in files of
//! changes.

use crate::common::{all, complaint, get, keyword_of, read, read_at, write};
use parquet::data_type::{ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use sotto_catalog::KeyKind;
use sotto_db::ingest::{
    ColumnSelector, Encoding, FileOptions, IndexOptions, IngestError, IngestOptions, IngestProblem,
    KeywordOptions, RangeOptions, SourceLayout, ValueOptions,
};
use sotto_db::progress::silent;
use sotto_db::update::{ChangeFile, KeyLines, KeyedTable, read_keys};
use sotto_db::{DbError, IngestedTable, ingest};
use sotto_layers::keyword::KeyForm;
use sotto_prg::PublicSeed;
use std::path::Path;
use std::sync::Arc;

fn column(text: &str) -> ColumnSelector {
    text.parse().unwrap()
}

fn keyed(form: KeyForm, key: &str, value: Option<&str>) -> SourceLayout {
    let (key, value) = (column(key), value.map(column));
    SourceLayout::Keyword(KeywordOptions { key, value, ..KeywordOptions::new(form, PublicSeed([9; 32])) })
}

fn indexed(value: &str, row: Option<&str>) -> SourceLayout {
    let (value, row) = (column(value), row.map(column));
    SourceLayout::Index(IndexOptions { value, row, values: ValueOptions::default() })
}

fn addressed(columns: [&str; 3]) -> SourceLayout {
    let [start, end, value] = columns.map(column);
    SourceLayout::Range(RangeOptions { start, end, value, ..RangeOptions::new(KeyKind::Ipv4, 256) })
}

fn fault(name: &str, bytes: impl AsRef<[u8]>, layout: SourceLayout) -> IngestError {
    complaint(read(name, bytes, layout).map(drop).unwrap_err())
}

/// A file of changes to a table of text keys, with values if `value_bytes` is not zero.
fn changes(
    name: &str,
    bytes: impl AsRef<[u8]>,
    value_bytes: u64,
    delete: Option<&str>,
) -> Result<KeyLines, DbError> {
    let dir = tempfile::tempdir().unwrap();
    let value = (value_bytes > 0).then_some(sotto_catalog::ValueKind::Text);
    let keyed = KeyedTable { form: KeyForm::Text, key_bytes: 255, value, value_bytes };
    let header = delete.map(|_| true).or(Some(false));
    let file = FileOptions { header, ..FileOptions::default() };
    let options = ChangeFile { file, delete: delete.map(column), ..ChangeFile::default() };
    read_keys(&write(dir.path(), name, bytes), &options, None, keyed, &silent)
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn a_mark_in_front_is_no_part_of_the_text() {
    for (name, text, key) in [
        ("t.csv", "k,v\na,e\n", "k"),
        ("t.jsonl", "{\"k\":\"a\",\"v\":\"e\"}\n", "k"),
        ("arrays.jsonl", "[\"a\",\"e\"]\n", "1"),
        ("bare.csv", "a,e\n", "1"),
        ("t.tsv", "k\tv\na\te\n", "k"),
    ] {
        let value = if key == "1" { "2" } else { "v" };
        for mark in ["", "\u{feff}"] {
            let table = read(name, format!("{mark}{text}"), keyed(KeyForm::Text, key, Some(value))).unwrap();
            assert_eq!(get(&table, "a").as_deref(), Some("e"), "{name}");
        }
    }
    let read = changes("c.csv", "\u{feff}a,e\n", 9, None).unwrap();
    assert_eq!(read.lines.keys().collect::<Vec<_>>(), [b"a"]);
}

#[test]
fn other_encodings_are_named() {
    let key = || keyed(KeyForm::Text, "1", None);
    for (name, text) in [("t.csv", "aria\nbe\n"), ("t.jsonl", "[\"aria\"]\n"), ("t.tsv", "aria\tx\n")] {
        for bytes in [utf16(text), utf16(&format!("\u{feff}{text}"))] {
            let of_table = fault(name, &bytes, key()).to_string();
            let of_changes = complaint(changes(name, &bytes, 0, None).map(drop).unwrap_err()).to_string();
            for said in [of_table, of_changes] {
                assert!(said.contains("UTF-16") && said.contains("expected UTF-8"), "{name}: {said}");
            }
        }
    }
    // A single zero byte is not an encoding, and not a key that a client could look up.
    for (name, bytes) in [("t.csv", "abc\nd\0e\n"), ("t.jsonl", "[\"abc\"]\n[\"d\\u0000e\"]\n")] {
        let refused = fault(name, bytes, key());
        assert!(
            matches!(refused, IngestError { line: 2, problem: IngestProblem::ZeroByteInKey, .. }),
            "{refused}"
        );
        let refused = complaint(changes(name, bytes, 0, None).map(drop).unwrap_err());
        assert!(matches!(refused.problem, IngestProblem::ZeroByteInKey), "{refused}");
        assert!(read(name, bytes, keyed(KeyForm::Bytes, "1", None)).is_ok(), "bytes are any");
    }
}

/// Two columns of binary text, both named `v`.
fn parquet_twins(path: &Path) {
    let schema =
        "message t { REQUIRED BINARY k (UTF8); REQUIRED BINARY v (UTF8); REQUIRED BINARY v (UTF8); }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer =
        SerializedFileWriter::new(std::fs::File::create(path).unwrap(), schema, properties).unwrap();
    let mut rows = writer.next_row_group().unwrap();
    for text in ["a", "1", "2"] {
        let mut column = rows.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&[ByteArray::from(text)], None, None).unwrap();
        column.close().unwrap();
    }
    rows.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn of_two_columns_of_one_name_none_is_meant() {
    let by_name = || keyed(KeyForm::Text, "k", Some("v"));
    let csv = "k,v,v\na,1,2\n";
    let refused = fault("t.csv", csv, by_name());
    assert!(matches!(refused.problem, IngestProblem::NameTwice { first: 2, second: 3 }), "{refused}");
    let json =
        fault("t.jsonl", "{\"k\":\"b\",\"v\":\"0\"}\n{\"k\":\"a\",\"v\":\"1\",\"v\":\"2\"}\n", by_name());
    assert!(
        matches!(&json, IngestError { line: 2, problem: IngestProblem::FieldTwice(name), .. } if name == "v"),
        "{json}"
    );
    // The library would return the last of them for either.
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.parquet");
    parquet_twins(&path);
    for value in ["v", "2", "3"] {
        let refused =
            complaint(read_at(&path, keyed(KeyForm::Text, "k", Some(value))).map(drop).unwrap_err());
        assert!(matches!(refused.problem, IngestProblem::NameTwice { .. }), "{refused}");
    }
    for text in ["key,value,gone,gone\na,9,,yes\n", "key,key,value,gone\na,b,9,yes\n"] {
        let refused = complaint(changes("c.csv", text, 9, Some("gone")).map(drop).unwrap_err());
        assert!(matches!(refused.problem, IngestProblem::NameTwice { .. }), "{refused}");
    }
    // Columns requested by number, and other columns, are read.
    let options = IngestOptions {
        file: FileOptions { header: Some(true), ..FileOptions::default() },
        layout: keyed(KeyForm::Text, "1", Some("3")),
    };
    let table = ingest(&write(dir.path(), "t.csv", csv), &options, dir.path(), &silent).unwrap();
    assert_eq!(get(&table, "a").as_deref(), Some("2"));
    assert!(read("t.csv", csv, keyed(KeyForm::Text, "k", None)).is_ok());
}

#[test]
fn tabs_part_the_columns_of_their_files() {
    let text = "word\tmeaning\naria\tair, song\n";
    for name in ["t.tsv", "t.TSV", "t.tab"] {
        let table = read(name, text, keyed(KeyForm::Text, "word", Some("meaning"))).unwrap();
        assert_eq!(get(&table, "aria").as_deref(), Some("air, song"));
    }
    let read = changes("c.tsv", "aria\tsong\n", 9, None).unwrap();
    assert_eq!(read.lines.keys().collect::<Vec<_>>(), [b"aria"]);
    // In other files the error names the remedy: for columns by name, and where a column by number
    // would be the whole line.
    for (text, delimiter) in [(text, '\t'), ("k;v\na;1\n", ';'), ("k|v\na|1\n", '|')] {
        let refused = fault("t.csv", text, keyed(KeyForm::Text, "word", Some("meaning")));
        assert!(
            matches!(refused.problem, IngestProblem::OneColumn { delimiter: found } if found == delimiter),
            "{refused}"
        );
        assert!(refused.to_string().contains("--delimiter '"), "{refused}");
        let refused = fault("t.csv", text, keyed(KeyForm::Text, "1", Some("2")));
        assert!(matches!(refused.problem, IngestProblem::OneColumn { .. }), "{refused}");
    }
    let remarks = |text: &str| read_notes(text, keyed(KeyForm::Text, "1", None));
    assert!(remarks("k;v\na;1\n")[0].contains("--delimiter ';'"));
    assert!(remarks("a;b\nplain\n").is_empty(), "a sign of some lines parts nothing");
}

fn read_notes(text: &str, layout: SourceLayout) -> Vec<String> {
    read("t.csv", text, layout).unwrap().notes.remarks()
}

#[test]
fn no_line_without_a_row_moves_those_behind_it() {
    for (name, text, line) in
        [("t.csv", "a\n\nb\n", 2), ("t.csv", "\r\na\r\nb\r\n", 1), ("t.jsonl", "[\"a\"]\n  \n[\"b\"]\n", 2)]
    {
        let refused = fault(name, text, indexed("1", None));
        assert!(matches!(refused.problem, IngestProblem::Blank), "{refused}");
        assert_eq!(refused.line, line);
    }
    // At the end an empty line shifts no row; nor where rows have numbers, or keys.
    assert_eq!(all(read("t.csv", "a\nb\n\n", indexed("1", None)).unwrap().table.as_ref()), b"ab");
    assert_eq!(all(read("t.csv", "a\n\"\"\nb\n", indexed("1", None)).unwrap().table.as_ref()), b"a\0b");
    assert_eq!(all(read("t.csv", "1,b\n\n0,a\n", indexed("2", Some("1"))).unwrap().table.as_ref()), b"ab");
    assert!(read("t.csv", "a\n\nb\n", keyed(KeyForm::Text, "1", None)).is_ok());
    let remarks = read_notes("# words\na\nb\n", indexed("1", None));
    assert!(remarks[0].starts_with("1 lines begin with #"), "{remarks:?}");
}

#[test]
fn row_numbers_that_are_other_numbers_are_refused() {
    let numbers = "15551234567,ann\n15550000007,bob\n";
    let refused = fault("t.csv", numbers, indexed("2", Some("1")));
    assert!(matches!(refused.problem, IngestProblem::Sparse { last: 15_551_234_567, lines: 2 }), "{refused}");
    assert!(refused.to_string().contains("--key"), "{refused}");
    assert!(read("t.csv", "0,a\n1000000,b\n", indexed("2", Some("1"))).is_ok(), "gaps are no fault");
}

#[test]
fn keys_are_as_long_as_the_longest() {
    let longest = |text: &str| read("t.csv", text, keyed(KeyForm::Text, "1", Some("2")));
    let bytes = |table: &IngestedTable| keyword_of(table).params().key_bytes;
    for (length, room) in [(255, 255), (256, 256), (300, 512), (4096, 4096)] {
        let key = "x".repeat(length);
        let table = longest(&format!("a,1\n{key},2\nshort,3\n")).unwrap();
        assert_eq!(bytes(&table), room);
        assert_eq!((get(&table, &key), get(&table, "short")), (Some("2".into()), Some("3".into())));
    }
    let refused = complaint(longest(&format!("a,1\n{},2\n", "x".repeat(4097))).map(drop).unwrap_err());
    assert!(refused.to_string().contains("--key-form sha256") && refused.line == 2, "{refused}");
    let refused =
        complaint(changes("c.csv", format!("{},1\n", "x".repeat(256)), 9, None).map(drop).unwrap_err());
    assert!(matches!(refused.problem, IngestProblem::LongKey { bytes: 256, limit: 255 }), "{refused}");
}

#[test]
fn a_set_has_each_key_once() {
    let table = read("t.csv", "b\na\nb\nc\na\nb\n", keyed(KeyForm::Text, "1", None)).unwrap();
    assert_eq!((table.notes.lines, table.notes.repeated_keys), (6, 3));
    assert!(table.notes.remarks()[0].starts_with("3 keys are repeated in the file"));
    for key in ["a", "b", "c"] {
        assert!(get(&table, key).is_some(), "{key}");
    }
    assert_eq!(get(&table, "d"), None);
    let read = changes("c.csv", "a\nb\na\n", 0, None).unwrap();
    assert_eq!(read.lines.len(), 2);
    // Contradictory lines for one key are refused.
    let refused = changes("c.csv", "key,gone\na,\na,yes\n", 0, Some("gone"));
    assert!(matches!(complaint(refused.map(drop).unwrap_err()).problem, IngestProblem::SameKey { other: 2 }));
    let refused = fault("t.csv", "a,1\na,1\n", keyed(KeyForm::Text, "1", Some("2")));
    assert!(matches!(refused.problem, IngestProblem::SameKey { other: 1 }), "one key, one value");
}

#[test]
fn what_is_odd_about_keys_is_said() {
    let text = |lines: &str| read_notes(lines, keyed(KeyForm::Text, "1", None));
    assert!(text("+1 555 000 0007\n+15550000008\n")[0].starts_with("1 keys are telephone numbers"));
    let ntlm = "8846F7EAEE8FB117AD06BDD830B7586C\n";
    assert!(text(ntlm)[0].contains("--key-form md5"));
    assert!(text(&format!("{ntlm}word\n")).is_empty() && text("+ a b\n").is_empty());
    assert!(text("*.example.com\n")[0].starts_with("1 keys begin with *."));
    let domains = read_notes("*.example.com\nexample.org\n", keyed(KeyForm::Domain, "1", None));
    assert!(domains[0].starts_with("1 keys begin with *."), "{domains:?}");
}

#[test]
fn hashes_and_telephone_numbers_have_one_spelling() {
    let hash = "8846F7EAEE8FB117AD06BDD830B7586C";
    let table = read("t.csv", format!("{hash},7\n"), keyed(KeyForm::Md5, "1", Some("2"))).unwrap();
    assert_eq!(get(&table, &hash.to_lowercase()).as_deref(), Some("7"));
    let lines = "+1 555 000 0007,a\n+1 (555) 000-0008,b\n+15550000009,c\n";
    let table = read("t.csv", lines, keyed(KeyForm::Phone, "1", Some("2"))).unwrap();
    for (number, name) in [("+15550000007", "a"), ("+15550000008", "b"), ("+15550000009", "c")] {
        assert_eq!(get(&table, number).as_deref(), Some(name));
    }
    let refused = fault("t.csv", "555 000 0007,a\n", keyed(KeyForm::Phone, "1", Some("2")));
    assert!(refused.to_string().contains("E.164"), "{refused}");
}

#[test]
fn prefixes_are_ranges_of_ipv4() {
    let ranges = |text: &str, columns| {
        let table = read("t.csv", text, addressed(columns)).unwrap();
        let rows = |first: usize, count| {
            let mut bytes = vec![0; count * table.table.row_bytes()];
            table.table.read(first as u64, &mut bytes).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        // Blocks of 256 addresses, from 1.0.0.0 on.
        (rows(1 << 16, 4), table.notes.mixed_blocks)
    };
    let (start, network) = (["network", "network", "cc"], "network,cc\n1.0.0.0/24,AU\n1.0.2.0/23,CN\n");
    assert_eq!(ranges(network, start), ("AU\0\0CNCN".into(), 0));
    assert_eq!(ranges("1.0.0.0/24,1.0.1.255,AU\n", ["1", "2", "3"]), ("AUAU\0\0\0\0".into(), 0));
    assert_eq!(
        ranges("1.0.0.0,AU\n16777472/24,CN\n".replace("16777472/24", "1.0.1.0/32").as_str(), ["1", "1", "2"])
            .1,
        2
    );
    let all_of = read("t.csv", "0.0.0.0/0,A\n", addressed(["1", "1", "2"])).unwrap();
    assert_eq!(all_of.notes.mixed_blocks, 0);
    let refused = |text: &str| fault("t.csv", text, addressed(["1", "1", "2"]));
    let host = refused("1.0.0.7/24,A\n");
    assert!(host.to_string().contains("1.0.0.0/24"), "{host}");
    for text in ["2001:db8::/32,A\n", "::1,A\n"] {
        let v6 = refused(text).to_string();
        assert!(v6.contains("IPv4 addresses only") && v6.contains("--key-form ip"), "{v6}");
    }
    for text in ["1.0.0.0/33,A\n", "1.0.0/24,A\n", "1.0.0.0/,A\n"] {
        assert!(matches!(refused(text).problem, IngestProblem::Kind { .. }), "{text}");
    }
}

#[test]
fn a_json_document_is_no_json_lines() {
    let by_name = || keyed(KeyForm::Text, "k", Some("v"));
    for (text, tool) in [
        ("[{\"k\":\"a\",\"v\":\"b\"},{\"k\":\"c\",\"v\":\"d\"}]\n", "jq -c '.[]'"),
        ("[[\"a\",\"b\"],[\"c\",\"d\"]]\n", "jq -c '.[]'"),
        ("[\n  {\"k\":\"a\",\"v\":\"b\"}\n]\n", "jq -c '.[]'"),
        ("\u{feff}\n[\n", "jq -c '.[]'"),
        ("{\n  \"k\": \"a\"\n}\n", "jq -c ."),
    ] {
        for layout in [by_name(), keyed(KeyForm::Text, "1", Some("2"))] {
            let said = fault("t.jsonl", text, layout).to_string();
            assert!(said.contains("one JSON document") && said.contains(tool), "{text:?}: {said}");
        }
    }
    assert!(
        fault("t.jsonl", "{\"k\":\"a\",\"v\":\"b\"}\n{\n", by_name()).to_string().contains("not valid JSON")
    );
}

#[test]
fn decimals_without_a_point_are_integers() {
    let at = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let table = read_at(&at("decimal.parquet"), keyed(KeyForm::Text, "k", Some("v"))).unwrap();
    assert_eq!(get(&table, "k0").as_deref(), Some("15551234567"));
    let refused = complaint(
        read_at(&at("double.parquet"), keyed(KeyForm::Text, "phone", Some("v"))).map(drop).unwrap_err(),
    );
    assert!(refused.to_string().contains("a floating-point number (cast the column to BIGINT"), "{refused}");
    for (name, codec) in [("lz4.parquet", "LZ4"), ("brotli.parquet", "Brotli")] {
        let said = complaint(read_at(&at(name), keyed(KeyForm::Text, "k", Some("v"))).map(drop).unwrap_err())
            .to_string();
        assert!(said.contains(codec) && said.contains("write the file with zstd"), "{said}");
    }

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.parquet");
    let file = |scale: u8| {
        let schema = format!("message t {{ REQUIRED FIXED_LEN_BYTE_ARRAY (16) n (DECIMAL(38,{scale})); }}");
        let schema = Arc::new(parse_message_type(&schema).unwrap());
        let properties = Arc::new(WriterProperties::builder().build());
        let mut writer =
            SerializedFileWriter::new(std::fs::File::create(&path).unwrap(), schema, properties).unwrap();
        let mut rows = writer.next_row_group().unwrap();
        let mut column = rows.next_column().unwrap().unwrap();
        let numbers = [7, -7, i128::from(u64::MAX), 10i128.pow(37)];
        let numbers = numbers.map(|n| FixedLenByteArray::from(n.to_be_bytes().to_vec()));
        column.typed::<FixedLenByteArrayType>().write_batch(&numbers, None, None).unwrap();
        column.close().unwrap();
        rows.close().unwrap();
        writer.close().unwrap();
    };
    file(0);
    let table = read_at(&path, indexed("n", None)).unwrap();
    let text = String::from_utf8(all(table.table.as_ref())).unwrap();
    let values: Vec<&str> = text.split('\0').filter(|value| !value.is_empty()).collect();
    assert_eq!(values, ["7", "-7", "18446744073709551615", &format!("1{}", "0".repeat(37))]);
    let of_numbers = ValueOptions { encoding: Encoding::Unsigned(8), ..ValueOptions::default() };
    let numbers = SourceLayout::Index(IndexOptions { value: column("n"), row: None, values: of_numbers });
    let refused = complaint(read_at(&path, numbers).map(drop).unwrap_err());
    assert!(matches!(refused, IngestError { line: 2, problem: IngestProblem::Kind { .. }, .. }), "{refused}");
    file(2);
    let refused = complaint(read_at(&path, indexed("n", None)).map(drop).unwrap_err());
    assert!(refused.to_string().contains("a decimal with digits after the point"), "{refused}");
}

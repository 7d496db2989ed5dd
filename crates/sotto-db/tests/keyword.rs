//! Keyword tables from files: what is found again, and what is refused, by its line.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{all, place, write};
use sotto_catalog::{TableKind, ValueKind};
use sotto_core::{Layer, Row};
use sotto_db::ingest::{Encoding, FileOptions, IngestOptions, KeywordOptions, Layout, Problem, ValueOptions};
use sotto_db::progress::silent;
use sotto_db::{DbError, Ingested, ingest};
use sotto_layers::Keyword;
use sotto_layers::keyword::{Form, KeyError};
use sotto_prg::PublicSeed;
use sotto_testkit::rng::seeded;

fn options(form: Form) -> KeywordOptions {
    KeywordOptions {
        key: "1".parse().unwrap(),
        form,
        value: Some("2".parse().unwrap()),
        values: ValueOptions::default(),
        room: 0,
        seed: PublicSeed([9; 32]),
    }
}

fn read(text: &str, options: KeywordOptions) -> Result<Ingested, DbError> {
    let dir = tempfile::tempdir().unwrap();
    let options = IngestOptions { file: FileOptions::default(), layout: Layout::Keyword(options) };
    ingest(&write(dir.path(), "t.csv", text), &options, dir.path(), &silent)
}

fn fault(text: &str, options: KeywordOptions) -> (u64, Option<usize>, Problem) {
    place(read(text, options).map(drop).unwrap_err())
}

fn get(table: &Ingested, key: &str) -> Option<Vec<u8>> {
    let [layer] = &table.layers[..] else { panic!("one layer") };
    let keyword = Keyword::parse(layer.params.to_string().as_bytes()).unwrap();
    let width = table.table.row_bytes();
    let bytes = all(table.table.as_ref());
    let key = keyword.params().form.canonical(key.as_bytes()).unwrap();
    let (rows, plan) = keyword.plan(&key, &mut seeded("keys")).unwrap();
    let rows = rows.iter().map(|row| Row::new(bytes[*row as usize * width..][..width].to_vec()));
    keyword.assemble(plan, rows.collect()).unwrap().map(|value| value.to_vec())
}

#[test]
fn keys_are_found_in_any_spelling() {
    let text = "Example.com,spam\nbücher.example.,\n\"a.example\",x\n";
    let table = read(text, options(Form::Domain)).unwrap();
    assert_eq!((&table.kind, table.value, table.notes.lines), (&TableKind::Keyword, ValueKind::Text, 3));
    assert_eq!(get(&table, "EXAMPLE.com.").unwrap(), b"spam");
    assert_eq!(get(&table, "xn--bcher-kva.example").unwrap(), b"");
    assert_eq!(get(&table, "a.example").unwrap(), b"x");
    assert_eq!(get(&table, "b.example"), None);
    // The same file and seed give the same rows.
    let again = read(text, options(Form::Domain)).unwrap();
    assert_eq!(all(table.table.as_ref()), all(again.table.as_ref()));
}

#[test]
fn a_table_of_keys_alone_is_a_set() {
    let table = read("192.0.2.1\n::1\n", KeywordOptions { value: None, ..options(Form::Ip) }).unwrap();
    assert_eq!(get(&table, "::ffff:192.0.2.1").unwrap(), b"");
    assert_eq!(get(&table, "192.0.2.2"), None);
}

#[test]
fn numbers_have_one_width() {
    let values = ValueOptions { encoding: Encoding::Unsigned(4), width: None };
    let table = read("a,1\nb,70000\n", KeywordOptions { values, ..options(Form::Text) }).unwrap();
    assert_eq!(get(&table, "b").unwrap(), 70000u32.to_le_bytes());
}

#[test]
fn what_is_wrong_is_named_by_line() {
    let text = options(Form::Text);
    assert!(matches!(fault("", text.clone()), (0, None, Problem::Empty)));
    assert!(matches!(fault("a,1\n,2\n", text.clone()), (2, Some(1), Problem::Key(KeyError::Empty))));
    let twice = fault("a,1\nb,2\n\"c\nd\",3\nb,4\na,5\n", text.clone());
    assert!(matches!(twice, (5, None, Problem::SameKey { other: 2 })), "{twice:?}");
    let long = format!("a,1\n{},2\n", "k".repeat(256));
    assert!(matches!(fault(&long, text.clone()), (2, Some(1), Problem::Keys(_))));
    let width = KeywordOptions { values: ValueOptions { width: Some(2), ..Default::default() }, ..text };
    assert!(matches!(fault("a,12\nb,123\n", width), (2, Some(2), Problem::TooLong { bytes: 3, width: 2 })));
    let domain = fault("a.example,1\nno domain,2\n", options(Form::Domain));
    assert!(matches!(domain, (2, Some(1), Problem::Key(KeyError::Not(_)))));
}

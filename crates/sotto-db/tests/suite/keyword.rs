//! Keyword tables from files: which keys are found, and which files are refused, with the line.

use crate::common::{all, place, write};
use sotto_catalog::{TableKind, ValueKind};
use sotto_core::{Layer, Row};
use sotto_db::ingest::{
    CostModel, Encoding, FileOptions, IngestOptions, IngestProblem, KeywordOptions, SourceLayout,
    ValueOptions,
};
use sotto_db::progress::silent;
use sotto_db::{DbError, IngestedTable, ingest};
use sotto_layers::Keyword;
use sotto_layers::keyword::{KeyError, KeyForm};
use sotto_prg::PublicSeed;
use sotto_testkit::rng::seeded;

fn options(form: KeyForm) -> KeywordOptions {
    KeywordOptions {
        key: "1".parse().unwrap(),
        form,
        value: Some("2".parse().unwrap()),
        values: ValueOptions::default(),
        headroom: 0,
        probes: None,
        slots: None,
        bands: Default::default(),
        costing: None,
        seed: PublicSeed([9; 32]),
    }
}

fn read(text: &str, options: KeywordOptions) -> Result<IngestedTable, DbError> {
    let dir = tempfile::tempdir().unwrap();
    let options = IngestOptions { file: FileOptions::default(), layout: SourceLayout::Keyword(options) };
    ingest(&write(dir.path(), "t.csv", text), &options, dir.path(), &silent)
}

fn fault(text: &str, options: KeywordOptions) -> (u64, Option<usize>, IngestProblem) {
    place(read(text, options).map(drop).unwrap_err())
}

fn get(table: &IngestedTable, key: &str) -> Option<Vec<u8>> {
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
    let table = read(text, options(KeyForm::Domain)).unwrap();
    assert_eq!((&table.kind, table.value, table.notes.lines), (&TableKind::Keyword, ValueKind::Text, 3));
    assert_eq!(get(&table, "EXAMPLE.com.").unwrap(), b"spam");
    assert_eq!(get(&table, "xn--bcher-kva.example").unwrap(), b"");
    assert_eq!(get(&table, "a.example").unwrap(), b"x");
    assert_eq!(get(&table, "b.example"), None);
    // The same file and seed give the same rows.
    let again = read(text, options(KeyForm::Domain)).unwrap();
    assert_eq!(all(table.table.as_ref()), all(again.table.as_ref()));
}

#[test]
fn a_table_of_keys_alone_is_a_set() {
    let table = read("192.0.2.1\n::1\n", KeywordOptions { value: None, ..options(KeyForm::Ip) }).unwrap();
    assert_eq!(get(&table, "::ffff:192.0.2.1").unwrap(), b"");
    assert_eq!(get(&table, "192.0.2.2"), None);
}

#[test]
fn numbers_have_one_width() {
    let values = ValueOptions { encoding: Encoding::Unsigned(4), ..Default::default() };
    let table = read("a,1\nb,70000\n", KeywordOptions { values, ..options(KeyForm::Text) }).unwrap();
    assert_eq!(get(&table, "b").unwrap(), 70000u32.to_le_bytes());
}

/// One probe costs least where many lookups share the hint, and requested options are used.
#[test]
fn a_table_is_arranged_for_its_scheme() {
    let text: String = (0..4000).map(|i| format!("key {i},{i}\n")).collect();
    let options = |lookups_per_client| {
        let costing = CostModel {
            entry: &simplepir::ENTRY,
            lookups_per_client,
            goal: Default::default(),
            set: None,
            batch: None,
        };
        KeywordOptions { costing: Some(costing), ..options(KeyForm::Text) }
    };
    let arranged = |options: KeywordOptions| {
        let table = read(&text, options).unwrap();
        for i in [0, 1777, 3999] {
            assert_eq!(get(&table, &format!("key {i}")), Some(i.to_string().into_bytes()));
        }
        assert_eq!(get(&table, "key 4000"), None);
        let keyword = Keyword::parse(table.layers[0].params.to_string().as_bytes()).unwrap();
        (keyword.params().probes, keyword.params().slots)
    };
    // For a single lookup the hint dominates the costs, and it is smallest where rows are narrow.
    assert_eq!(arranged(options(1_000_000)).0, 1);
    assert!(arranged(options(1)).0 > 1);
    let options = options(100);
    assert_eq!(arranged(KeywordOptions { probes: Some(2), slots: Some(4), ..options.clone() }), (2, 4));
    assert_eq!(arranged(KeywordOptions { probes: Some(3), ..options.clone() }).0, 3);
    assert_eq!(arranged(KeywordOptions { slots: Some(12), ..options }), (1, 12));
}

#[test]
fn what_is_wrong_is_named_by_line() {
    let text = options(KeyForm::Text);
    assert!(matches!(fault("", text.clone()), (0, None, IngestProblem::Empty)));
    assert!(matches!(fault("a,1\n,2\n", text.clone()), (2, Some(1), IngestProblem::Key(KeyError::Empty))));
    let twice = fault("a,1\nb,2\n\"c\nd\",3\nb,4\na,5\n", text.clone());
    assert!(matches!(twice, (5, None, IngestProblem::SameKey { other: 2 })), "{twice:?}");
    let long = format!("a,1\n{},2\n", "k".repeat(4097));
    assert!(matches!(fault(&long, text.clone()), (2, Some(1), IngestProblem::Key(KeyError::Long { .. }))));
    let width = KeywordOptions { values: ValueOptions { width: Some(2), ..Default::default() }, ..text };
    assert!(matches!(
        fault("a,12\nb,123\n", width),
        (2, Some(2), IngestProblem::TooLong { bytes: 3, width: 2 })
    ));
    let domain = fault("a.example,1\nno domain,2\n", options(KeyForm::Domain));
    assert!(matches!(domain, (2, Some(1), IngestProblem::Key(KeyError::Not(_)))));
}

//! Range tables, compared with a table that looks up every key by itself.

use crate::common::{Memory, all, complaint, encode, folder, place, rows_of};
use proptest::prelude::*;
use sotto_catalog::{KeyKind, TableKind};
use sotto_db::ingest::{IngestProblem, IngestedTable, RangeOptions, SourceLayout, ValueOptions};
use sotto_db::table::BlockRule;
use sotto_db::{DbError, TableSource};
use sotto_testkit::CLEAR;
use std::fmt::Write;

fn read(text: &str, options: RangeOptions) -> Result<IngestedTable, DbError> {
    crate::common::read("ranges.csv", text, SourceLayout::Range(options))
}

/// Keys 100 to 139 in four blocks of ten.
fn small() -> RangeOptions {
    RangeOptions { first: 100, last: Some(139), empty: "-".into(), ..RangeOptions::new(KeyKind::U32, 10) }
}

fn fault(text: &str) -> (u64, Option<usize>, IngestProblem) {
    place(read(text, small()).map(drop).unwrap_err())
}

fn text(table: &IngestedTable) -> String {
    String::from_utf8(all(&*table.table)).unwrap()
}

#[test]
fn the_first_key_of_a_block_decides() {
    // Block 0 is covered, block 1 from its second key on, block 2 up to its first key, block 3 not
    // at all.
    let table = read("100,109,a\n111,120,b\n", small()).unwrap();
    assert_eq!(text(&table), "a-b-");
    assert_eq!((table.notes.lines, table.notes.mixed_blocks), (2, 2));
}

#[test]
fn or_the_value_of_most_of_its_keys() {
    let most = || RangeOptions { rule: BlockRule::Most, ..small() };
    let table = read("100,109,a\n111,120,b\n", most()).unwrap();
    assert_eq!(text(&table), "ab--");
    // A value may cover most of a block without having its longest range; the first wins a tie.
    let table = read("100,101,a\n102,104,b\n105,107,a\n110,114,b\n115,119,a\n", most()).unwrap();
    assert_eq!(text(&table), "ab--");
}

#[test]
fn order_does_not_matter_and_neighbors_are_not_mixed() {
    let table = read("115,129,b\n100,104,a\n105,114,a\n130,139,b\n", small()).unwrap();
    assert_eq!(text(&table), "aabb");
    assert_eq!(table.notes.mixed_blocks, 1, "block 1 only: block 0 has two ranges of one value");
}

#[test]
fn overlaps_name_both_lines() {
    let (line, column, problem) = fault("110,119,b\n\n100,110,a\n");
    assert_eq!((line, column), (3, Some(1)));
    assert!(matches!(problem, IngestProblem::Overlap { other: 1 }));
    assert!(matches!(fault("100,139,a\n105,106,b\n").2, IngestProblem::Overlap { other: 1 }));
    assert!(matches!(fault("100,100,a\n100,100,a\n").2, IngestProblem::Overlap { other: 1 }));
}

#[test]
fn bad_ranges() {
    assert!(matches!(fault("105,104,a\n"), (1, Some(2), IngestProblem::Backwards)));
    assert!(matches!(
        fault("100,101,a\n99,105,a\n"),
        (2, Some(1), IngestProblem::OutsideKeys { first: 100, last: 139 })
    ));
    assert!(matches!(fault("100,140,a\n"), (1, Some(2), IngestProblem::OutsideKeys { .. })));
    assert!(matches!(fault("x,140,a\n"), (1, Some(1), IngestProblem::Kind { .. })));
    assert!(matches!(fault("1.0.0.0,140,a\n"), (1, Some(1), IngestProblem::Kind { .. })));
    assert!(matches!(fault(""), (0, None, IngestProblem::Empty)));
    let wide = RangeOptions { values: ValueOptions { width: Some(1), ..Default::default() }, ..small() };
    let (line, column, problem) = place(read("100,101,ab\n", wide).map(drop).unwrap_err());
    assert_eq!((line, column), (1, Some(3)));
    assert!(matches!(problem, IngestProblem::TooLong { bytes: 2, width: 1 }));
}

#[test]
fn options_that_make_no_table() {
    let refused = |options| {
        let error = complaint(read("1,2,a\n", options).map(drop).unwrap_err());
        assert!(matches!(error.problem, IngestProblem::Options(_)), "{error}");
    };
    refused(RangeOptions::new(KeyKind::U32, 0));
    refused(RangeOptions { first: 5, last: Some(4), ..RangeOptions::new(KeyKind::U32, 1) });
    refused(RangeOptions { last: Some(u64::MAX), ..RangeOptions::new(KeyKind::U64, 1) });
    refused(RangeOptions { last: Some(1 << 32), ..RangeOptions::new(KeyKind::U32, 1) });
    let unreadable = ValueOptions { encoding: "u8".parse().unwrap(), ..Default::default() };
    refused(RangeOptions { empty: "x".into(), values: unreadable, ..RangeOptions::new(KeyKind::U32, 1) });
}

#[test]
fn widths_that_ask_for_too_much_memory() {
    let lines: String = (0..100).map(|key| format!("{key},{key},{key}\n")).collect();
    let with = |width| {
        let values = ValueOptions { width: Some(width), ..Default::default() };
        let options = RangeOptions { values, ..RangeOptions::new(KeyKind::U32, 1) };
        complaint(read(&lines, options).map(drop).unwrap_err()).to_string()
    };
    for width in [(1 << 30) + 1, usize::MAX] {
        assert!(with(width).contains("1 to 2^30 bytes"), "{width}");
    }
    assert!(with(1 << 30).contains("over 4 GiB"));
}

#[test]
fn addresses_reach_from_the_first_to_the_last() {
    let options = RangeOptions { empty: "??".into(), ..RangeOptions::new(KeyKind::Ipv4, 256) };
    let text = "0.0.0.0,0.0.0.255,AA\n16777216,16777471,AU\n255.255.255.0,255.255.255.255,ZZ\n";
    let table = read(text, options).unwrap();
    assert_eq!((table.table.rows(), table.table.row_bytes(), table.notes.mixed_blocks), (1 << 24, 2, 0));
    let row = |row: u64| {
        let mut out = [0; 2];
        table.table.read(row, &mut out).unwrap();
        String::from_utf8(out.to_vec()).unwrap()
    };
    let last = (1 << 24) - 1;
    assert_eq!(
        [row(0), row(1), row(65536), row(65537), row(last - 1), row(last)],
        ["AA", "??", "AU", "??", "??", "ZZ"]
    );
    assert!(table.table.read(last, &mut [0; 4]).is_err());
    match &table.kind {
        TableKind::Range { key: KeyKind::Ipv4, block: 256, first: 0, empty } => assert_eq!(empty.0, b"??"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_largest_keys_do_not_overflow() {
    let options = RangeOptions { first: u64::MAX - 9, ..RangeOptions::new(KeyKind::U64, 4) };
    let text = format!("{},{},a\n", u64::MAX - 1, u64::MAX);
    for rule in [BlockRule::First, BlockRule::Most] {
        let table = read(&text, RangeOptions { rule, ..options.clone() }).unwrap();
        assert_eq!(all(&*table.table), b"\0\0a", "{rule:?}");
    }
}

/// The first lines of the table that the demo serves: real ranges, real gaps.
#[test]
fn a_real_table() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/ip-country/asn-country-ipv4-num.csv.gz");
    let mut reader = flate2::read::MultiGzDecoder::new(std::fs::File::open(file).unwrap());
    let mut lines = String::new();
    std::io::Read::read_to_string(&mut reader, &mut lines).unwrap();
    let lines: Vec<_> = lines.lines().take(2000).collect();
    let last: u64 = lines.last().unwrap().split(',').nth(1).unwrap().parse().unwrap();
    let first = 1 << 24;
    let options = RangeOptions { first, last: Some(last), ..RangeOptions::new(KeyKind::Ipv4, 256) };
    let table = read(&lines.join("\n"), options).unwrap();

    let (_temp, dir) = folder();
    encode(&dir, &CLEAR, &*table.table).unwrap();
    let rows = rows_of(&dir.open_latest().unwrap(), &CLEAR);
    assert_eq!(rows.len() as u64, ((last - first) / 256 + 1) * 2);
    let parsed: Vec<_> = lines
        .iter()
        .map(|line| {
            let fields: Vec<_> = line.split(',').collect();
            (fields[0].parse::<u64>().unwrap(), fields[1].parse::<u64>().unwrap(), fields[2])
        })
        .collect();
    for (i, row) in rows.chunks(2).enumerate() {
        let key = first + 256 * i as u64;
        let (start, _, value) = parsed[parsed.partition_point(|(_, end, _)| *end < key)];
        assert_eq!(row, if start <= key { value } else { "\0\0" }.as_bytes(), "{key}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_block_has_the_value_of_its_key(
        cuts in prop::collection::btree_set(0u64..200, 2..20),
        kinds in prop::collection::vec(0u8..3, 20),
        block in 1u64..20, first in 0u64..30, most: bool,
    ) {
        // Cuts make segments; a third of them are gaps, the others have one of two values.
        let cuts: Vec<_> = cuts.into_iter().map(|cut| cut + first).collect();
        let mut value_of = std::collections::BTreeMap::new();
        let mut text = String::new();
        for (pair, kind) in cuts.windows(2).zip(&kinds) {
            if *kind > 0 {
                writeln!(text, "{},{},{}", pair[0], pair[1] - 1, kind).unwrap();
                value_of.extend((pair[0]..pair[1]).map(|key| (key, *kind + b'0')));
            }
        }
        prop_assume!(!text.is_empty());
        let last = 260;
        let rule = if most { BlockRule::Most } else { BlockRule::First };
        let options = RangeOptions { first, last: Some(last), rule, empty: "0".into(), ..RangeOptions::new(KeyKind::U32, block) };
        let table = read(&text, options).unwrap();
        let value = |key: u64| value_of.get(&key).copied().unwrap_or(b'0');
        let mut mixed = 0;
        let mut expected = Vec::new();
        for start in (first..=last).step_by(block as usize) {
            let values: Vec<_> = (start..start + block).map(value).collect();
            mixed += u64::from(values.iter().any(|v| v != &values[0]));
            let share = |expected: u8| values.iter().filter(|&&v| v == expected).count();
            // The first value wins a tie.
            let best = values.iter().copied().reduce(|best, v| if share(v) > share(best) { v } else { best });
            expected.push(if most { best.unwrap() } else { values[0] });
        }
        prop_assert_eq!(all(&*table.table), expected);
        prop_assert_eq!(table.notes.mixed_blocks, mixed);
    }

    #[test]
    fn reads_from_anywhere_agree(from: prop::sample::Index, count: prop::sample::Index) {
        let table = read("103,118,a\n121,121,b\n125,139,c\n", RangeOptions { first: 90, block: 3, ..small() }).unwrap();
        let whole = all(&*table.table);
        let from = from.index(whole.len());
        let count = count.index(whole.len() - from) + 1;
        let mut part = vec![0; count];
        table.table.read(from as u64, &mut part).unwrap();
        prop_assert_eq!(&part, &whole[from..from + count]);
        prop_assert_eq!(Memory { width: 1, bytes: whole }.rows(), table.table.rows());
    }
}

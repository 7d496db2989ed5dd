//! KsPIR from outside: noise, shapes, refusals.
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test"
)]

mod noise;

use sotto_core::{Client as _, Error, Misuse, OneServer, RecordIndex, Server as _, Wire};
use sotto_kspir::KsPir;
use sotto_kspir::literal::ParamsLiteral;
use sotto_kspir::ring::{N, SET, ring};
use sotto_lattice::ring::ModulusLevel;
use sotto_silent::MatrixScheme;
use sotto_silent::message::{Answer, Keys, Query};
use sotto_testkit::rng::seeded;
use sotto_testkit::served::{InProcessServer, is_not_canonical, refuses, with_word};
use sotto_testkit::vectors::bytes;

/// A table, and a server that has it.
type Table = InProcessServer<MatrixScheme<KsPir>>;

/// A literal of so many records and pages, columns, blocks and baby steps.
fn literal(records: u64, [pages, columns, blocks, babies]: [u32; 4]) -> ParamsLiteral {
    ParamsLiteral { set: SET.into(), records, pages, columns, blocks, babies, answer_bits: [26, 19] }
}

/// A table of bytes that any language can make.
fn table(literal: ParamsLiteral) -> Table {
    let count = literal.records as usize * literal.grid().record_bytes();
    Table::checked(literal, bytes(count))
}

/// Every shape of a grid: a page or two, blocks or none, giant steps or none, and records that are not there.
#[test]
fn records_come_back() {
    for (records, grid) in
        [(1, [1, 2, 1, 2]), (7, [1, 4, 2, 2]), (30, [2, 8, 4, 4]), (16, [1, 16, 1, 8]), (5, [1, 2, 8, 2])]
    {
        table(literal(records, grid)).come_back(&format!("{grid:?}"));
    }
}

#[test]
fn coefficients_that_are_not_reduced_are_refused() {
    let table = table(literal(3, [1, 4, 2, 2]));
    let (params, mut client) = (&table.params, table.client("refusals"));
    let (asked, answer, _) = table.lookup(&mut client, 2, "query");
    let mut keys = Vec::new();
    client.keys().put(params, &mut keys);
    let [full, main] = [ModulusLevel::Full, ModulusLevel::Main].map(|level| ring().unwrap().modulus(level));
    // The first coefficient of the vector's body, and of the first row's: as large as they may be, and one more.
    for (at, bits, modulus) in [(32, 80, full), (32 + N * 10, 56, main)] {
        let with = |word| with_word(&asked, 8 * at, bits, word);
        assert!(Query::take(params, &with(modulus - 1)).is_ok(), "{at}");
        assert!(is_not_canonical::<Query, _>(params, &with(modulus)), "{at}");
    }
    // The first body of a baby step, and the last one of packing.
    for (at, bits, modulus) in [(32, 80, full), (keys.len() - N * 7, 56, main)] {
        let with = |word| with_word(&keys, 8 * at, bits, word);
        assert!(Keys::take(params, &with(modulus - 1)).is_ok(), "{at}");
        assert!(is_not_canonical::<Keys, _>(params, &with(modulus)), "{at}");
    }
    let mut sent = Vec::new();
    answer.put(params, &mut sent);
    assert_eq!(Answer::take(params, &sent).unwrap(), answer);
}

#[test]
fn sessions_of_another_grid_are_refused() {
    let [table, other] = [[1, 4, 2, 2], [1, 4, 4, 2]].map(|grid| table(literal(3, grid)));
    let (mut client, stranger) = (table.client("refusals"), other.client("refusals"));
    let session = other.server.admit(stranger.keys()).unwrap();
    let (OneServer(query), _) = client.query(RecordIndex(1), &mut seeded("query")).unwrap();
    assert!(matches!(table.server.answer(&session, query), Err(Error::Misuse(Misuse::ForeignValue(_)))));
}

#[test]
fn literals_that_promise_too_much_are_refused() {
    let good = || literal(2048 * 16, [1, 2048, 16, 128]);
    let narrow = ParamsLiteral { answer_bits: [18, 18], ..good() };
    let fields = [
        ("set", ParamsLiteral { set: "n4096-q50".into(), ..good() }),
        ("records", ParamsLiteral { records: 0, ..good() }),
        ("records", ParamsLiteral { records: 2048 * 16 + 1, ..good() }),
        ("columns", ParamsLiteral { pages: 0, ..good() }),
        ("columns", ParamsLiteral { pages: 129, ..good() }),
        ("columns", ParamsLiteral { columns: 4096, ..good() }),
        ("columns", ParamsLiteral { columns: 1000, ..good() }),
        ("columns", ParamsLiteral { blocks: 0, ..good() }),
        ("columns", ParamsLiteral { blocks: 8192, ..good() }),
        ("columns", ParamsLiteral { babies: 1, ..good() }),
        ("columns", ParamsLiteral { babies: 4096, ..good() }),
        ("answer_bits", ParamsLiteral { answer_bits: [43, 20], ..good() }),
        ("answer_bits", ParamsLiteral { answer_bits: [26, 27], ..good() }),
        ("answer_bits", ParamsLiteral { answer_bits: [26, 17], ..good() }),
    ];
    refuses::<MatrixScheme<KsPir>>(good(), [narrow], fields);
}

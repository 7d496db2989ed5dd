//! InsPIRe from outside: noise, refusals, updates.
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test"
)]

mod noise;
mod updates;

use sotto_core::{Client as _, Error, Misuse, RecordIndex};
use sotto_inspire::Inspire;
use sotto_inspire::literal::ParamsLiteral;
use sotto_silent::MatrixScheme;
use sotto_silent::lattice::{N, PUBLIC_SEED, SET};
use sotto_silent::message::Query;
use sotto_silent::unit_vector::largest;
use sotto_testkit::rng::seeded;
use sotto_testkit::served::{InProcessServer, is_not_canonical, refuses, with_word};
use sotto_testkit::vectors::bytes;

/// A table, and a server that has it.
type Table = InProcessServer<MatrixScheme<Inspire>>;

/// Bytes in a record, records, and places in a column; bits of words and keys, of the selector, and of answers.
fn literal(
    [record_bytes, records, places]: [u64; 3],
    [query_bits, key_bits]: [u8; 2],
    selector_bits: [u8; 2],
    answer_bits: [u8; 2],
) -> ParamsLiteral {
    let (set, seed) = (SET.into(), PUBLIC_SEED);
    ParamsLiteral {
        set,
        record_bytes,
        records,
        places,
        query_bits,
        key_bits,
        selector_bits,
        answer_bits,
        seed,
    }
}

#[test]
fn words_that_no_residue_is_cut_to_are_refused() {
    let table = Table::checked(literal([50, 17, 2], [50, 50], [50, 50], [37, 30]), bytes(50 * 17));
    let mut client = table.client("prepare");
    let (asked, _, _) = table.lookup(&mut client, 3, "query");
    let word = largest(50) + 1;
    // The first coefficients of a key, of a row for masks and of that for bodies; the first word of the vector, and the padding
    // of nine.
    let polynomials = [7, 5, 2, 1].map(|after| (8 * asked.len() - after * N * 50, 50, word));
    for (at, bits, word) in polynomials.into_iter().chain([(0, 50, word), (9 * 50, 1, 1)]) {
        let bad = with_word(&asked, at, bits, word.into());
        assert!(is_not_canonical::<Query, _>(&table.params, &bad), "{at}");
    }
    // The last column has room for one more record, which is not there.
    let past = client.query(RecordIndex(17), &mut seeded("past"));
    assert!(matches!(past.map(drop), Err(Error::Misuse(Misuse::IndexPastEnd { .. }))));
}

#[test]
fn literals_that_promise_too_much_are_refused() {
    let of = |shape, words| literal(shape, words, [40, 46], [26, 18]);
    let sized = |shape| of(shape, [43, 48]);
    let good = || sized([4096, 1000, 4]);
    // Too many columns; eight times as many terms, whose deviations add up; too few bits of a selector.
    let short = ParamsLiteral { selector_bits: [32, 46], ..good() };
    let unreliable = [sized([4096, 1 << 22, 4]), of([4096, 1000, 8], [43, 46]), short];
    let fields = [
        ("set", ParamsLiteral { set: "n1024".into(), ..good() }),
        ("seed", ParamsLiteral { seed: sotto_prg::PublicSeed([1; 32]), ..good() }),
        ("record_bytes", sized([0, 10, 2])),
        ("record_bytes", sized([(1 << 20) + 1, 10, 2])),
        ("records", sized([4096, 0, 2])),
        ("records", sized([4096, (1 << 21) + 1, 2])),
        ("places", sized([4096, 10, 0])),
        ("places", sized([4096, 10, 1])),
        ("places", sized([4096, 10, 3])),
        ("places", sized([4096, 10, 16])),
        ("query_bits", ParamsLiteral { query_bits: 51, ..good() }),
        ("key_bits", ParamsLiteral { key_bits: 39, ..good() }),
        ("selector_bits", ParamsLiteral { selector_bits: [31, 46], ..good() }),
        ("selector_bits", ParamsLiteral { selector_bits: [40, 51], ..good() }),
        ("answer_bits", ParamsLiteral { answer_bits: [38, 18], ..good() }),
        ("answer_bits", ParamsLiteral { answer_bits: [26, 27], ..good() }),
        ("answer_bits", ParamsLiteral { answer_bits: [26, 16], ..good() }),
    ];
    refuses::<MatrixScheme<Inspire>>(good(), unreliable, fields);
}

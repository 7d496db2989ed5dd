//! YPIR from outside: noise, refusals, shapes.
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test"
)]

mod aborts;
mod noise;

use sotto_core::Wire as _;
use sotto_silent::MatrixScheme;
use sotto_silent::message::{Answer, Query};
use sotto_testkit::served::{InProcessServer, is_not_canonical, refuses, with_word};
use sotto_testkit::vectors::bytes;
use sotto_ypir::Ypir;
use sotto_ypir::literal::{PUBLIC_SEEDS, ParamsLiteral, SETS};

/// A table, and a server that has it.
type Table = InProcessServer<MatrixScheme<Ypir>>;

/// The maximum numbers of bits: of the words of both queries, of keys, and of masks and bodies.
const WIDEST: [u8; 5] = [32, 50, 50, 37, 37];

fn literal([record_bytes, records, blocks]: [u64; 3], bits: [u8; 5]) -> ParamsLiteral {
    let [first, second, key_bits, mask, body] = bits;
    ParamsLiteral {
        sets: SETS.map(Into::into),
        record_bytes,
        records,
        blocks,
        query_bits: [first, second],
        key_bits,
        answer_bits: [mask, body],
        seeds: PUBLIC_SEEDS,
    }
}

#[test]
fn records_of_all_shapes_come_back() {
    // One record; widths whose last group is not full, in columns that are not; several ring blocks in either matrix.
    for (shape, byte) in
        [([1, 1, 1], 0x80), ([3, 75, 32], 0x7F), ([1, 9000, 2], 0x80), ([1, 5000, 4096], 0xFF)]
    {
        let size = (shape[0] * shape[1]) as usize;
        for fill in [bytes(size), vec![byte; size]] {
            Table::checked(literal(shape, WIDEST), fill).come_back(&format!("{shape:?}"));
        }
    }
}

#[test]
fn literals_that_promise_too_much_are_refused() {
    let good = || literal([2, 1 << 20, 64], [26, 42, 46, 26, 19]);
    // The first pass has too many columns for its bits; the second too few bits of words, of keys, and of masks.
    let unreliable = [
        (1 << 24, [24, 42, 46, 26, 19]),
        (1 << 20, [26, 32, 46, 26, 19]),
        (1 << 20, [26, 42, 40, 26, 19]),
        (1 << 20, [26, 42, 46, 22, 19]),
    ];
    let unreliable = unreliable.map(|(records, bits)| literal([2, records, 64], bits));
    let ([set, other], [seed, _]) = (good().sets, good().seeds);
    let small = |bits| literal([1, 10, 1], bits);
    let fields = [
        ("sets", ParamsLiteral { sets: [other, set], ..good() }),
        ("seeds", ParamsLiteral { seeds: [seed, seed], ..good() }),
        ("record_bytes", literal([0, 10, 1], WIDEST)),
        ("record_bytes", literal([65, 10, 1], WIDEST)),
        ("blocks", literal([1, 10, 0], WIDEST)),
        ("blocks", literal([1, 10, 6], WIDEST)),
        ("blocks", literal([1, 10, 1 << 17], WIDEST)),
        ("records", literal([1, 0, 1], WIDEST)),
        ("records", literal([1, (1 << 19) + 1, 1], WIDEST)),
        ("query_bits", small([23, 50, 50, 37, 37])),
        ("query_bits", small([32, 51, 50, 37, 37])),
        ("key_bits", small([32, 50, 39, 37, 37])),
        ("answer_bits", small([32, 50, 50, 38, 37])),
        ("answer_bits", small([32, 50, 50, 26, 27])),
    ];
    refuses::<MatrixScheme<Ypir>>(good(), unreliable, fields);
}

#[test]
fn messages_of_other_forms_are_refused() {
    let table = Table::checked(literal([1, 50, 8], [27, 42, 46, 26, 19]), bytes(50));
    let params = &table.params;
    let (query, answer, _) = table.lookup(&mut table.client("prepare"), 49, "refused");
    // Seven words of 27 bits leave three bits of the first part's last byte. After it, a word of the second part and a
    // coefficient of the last key are larger than any residue.
    for (at, bits) in [(7 * 27, 1), (24 * 8, 48), (8 * query.len() - 48, 48)] {
        let bad = with_word(&query, at, bits, u128::MAX);
        assert!(is_not_canonical::<Query, _>(params, &bad), "{at}");
    }
    let mut sent = Vec::new();
    answer.put(params, &mut sent);
    assert_eq!(Answer::take(params, &sent).unwrap(), answer);
    // A fresh body has 19 bits of three bytes.
    let bad = with_word(&sent, 8 * sent.len() - 1, 1, 1);
    assert!(is_not_canonical::<Answer, _>(params, &bad));
}

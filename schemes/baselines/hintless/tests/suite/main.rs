//! HintlessPIR from outside: noise, refusals.
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test"
)]

mod noise;

use sotto_core::Wire as _;
use sotto_hintless::Hintless;
use sotto_hintless::literal::{PUBLIC_SEED, ParamsLiteral};
use sotto_silent::MatrixScheme;
use sotto_silent::lwe::dense::HINTLESS;
use sotto_silent::message::{Answer, Query};
use sotto_testkit::served::{InProcessServer, is_not_canonical, refuses, with_word};
use sotto_testkit::vectors::bytes;

/// A table, and a server that has it.
type Table = InProcessServer<MatrixScheme<Hintless>>;

fn literal(record_bytes: u64, records: u64, block_rows: u64) -> ParamsLiteral {
    ParamsLiteral { set: HINTLESS.name.into(), record_bytes, records, block_rows, seed: PUBLIC_SEED }
}

#[test]
fn values_that_are_not_reduced_are_refused() {
    let table = Table::checked(literal(70, 9, 64), bytes(70 * 9));
    let params = &table.params;
    let (asked, answer, _) = table.lookup(&mut table.client("prepare"), 3, "query");
    // The first value of the ciphertext of s, and the last of the last key.
    for at in [9 * 4, asked.len() - 5] {
        assert!(is_not_canonical::<Query, _>(params, &with_word(&asked, 8 * at, 40, u128::MAX)), "{at}");
    }
    let mut sent = Vec::new();
    answer.put(params, &mut sent);
    assert_eq!(Answer::take(params, &sent).unwrap(), answer);
    assert!(is_not_canonical::<Answer, _>(params, &with_word(&sent, 70 * 32, 40, u128::MAX)));
}

#[test]
fn literals_that_promise_too_much_are_refused() {
    let good = || literal(4096, 1000, 1024);
    let fields = [
        ("set", ParamsLiteral { set: "n1024".into(), ..good() }),
        ("seed", ParamsLiteral { seed: sotto_prg::PublicSeed([1; 32]), ..good() }),
        ("record_bytes", literal(0, 10, 64)),
        ("record_bytes", literal((1 << 20) + 1, 10, 64)),
        ("records", literal(4096, 0, 64)),
        ("records", literal(4096, (1 << 20) + 1, 64)),
        ("block_rows", literal(4096, 10, 8)),
        ("block_rows", literal(4096, 10, 96)),
        ("block_rows", literal(4096, 10, 4096)),
    ];
    refuses::<MatrixScheme<Hintless>>(good(), [], fields);
}

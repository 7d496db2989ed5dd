//! DoublePIR from outside: noise, refusals, shapes.
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test"
)]

mod noise;

use sotto_core::{
    Artifact, Client as _, Error, Misuse, OneServer, PeerMisbehaved, Prepare as _, RecordIndex,
};
use sotto_doublepir::DoublePir;
use sotto_doublepir::literal::ParamsLiteral;
use sotto_silent::MatrixScheme;
use sotto_silent::client::Prepare;
use sotto_silent::lwe::ring::{PUBLIC_SEED, SET};
use sotto_silent::message::Query;
use sotto_testkit::rng::seeded;
use sotto_testkit::served::{InProcessServer, is_not_canonical, refuses, with_word};
use sotto_testkit::vectors::bytes;

/// A table, and a server that has it.
type Table = InProcessServer<MatrixScheme<DoublePir>>;

/// The maximum numbers of bits: of the words of both queries, of an answer, and of masks.
const WIDEST: [u8; 4] = [32, 32, 32, 32];

fn literal([record_bytes, records, blocks]: [u64; 3], bits: [u8; 4]) -> ParamsLiteral {
    let [first, second, answer_bits, mask_bits] = bits;
    let (set, seed, query_bits) = (SET.into(), PUBLIC_SEED, [first, second]);
    ParamsLiteral { set, record_bytes, records, blocks, query_bits, answer_bits, mask_bits, seed }
}

#[test]
fn records_of_all_shapes_come_back() {
    // One record; a column that is not full; a width that divides no panel; several ring blocks in either matrix.
    let shapes =
        [[1, 1, 1], [1, 100, 16], [3, 75, 32], [7, 40, 8], [64, 9, 2], [1, 9000, 2], [2, 5000, 2048]];
    // The extremes of a byte by turns: each has tables of one block and of several.
    for (shape, byte) in shapes.into_iter().zip([0x80, 0x7F].into_iter().cycle()) {
        let size = (shape[0] * shape[1]) as usize;
        for fill in [bytes(size), vec![byte; size]] {
            Table::checked(literal(shape, WIDEST), fill).come_back(&format!("{shape:?}"));
        }
    }
}

#[test]
fn literals_that_promise_too_much_are_refused() {
    let good = || literal([4, 1 << 20, 64], [27, 26, 12, 22]);
    // The first pass has too many columns for its bits; the second too few bits in answers, and in masks.
    let unreliable = [(64, [24, 26, 12, 22]), (1 << 14, [27, 24, 9, 22]), (64, [27, 26, 12, 18])];
    let unreliable = unreliable.map(|(blocks, bits)| literal([4, 1 << 22, blocks], bits));
    let small = |bits| literal([1, 10, 1], bits);
    let fields = [
        ("set", ParamsLiteral { set: "n2048".into(), ..good() }),
        ("seed", ParamsLiteral { seed: sotto_prg::PublicSeed([1; 32]), ..good() }),
        ("record_bytes", literal([0, 10, 1], WIDEST)),
        ("record_bytes", literal([65, 10, 1], WIDEST)),
        ("blocks", literal([1, 10, 0], WIDEST)),
        ("blocks", literal([1, 10, 3], WIDEST)),
        ("blocks", literal([1, 10, 1 << 17], WIDEST)),
        ("records", literal([1, 0, 1], WIDEST)),
        ("records", literal([1, (1 << 20) + 1, 2], WIDEST)),
        ("query_bits", small([33, 32, 32, 32])),
        ("query_bits", small([32, 23, 23, 32])),
        ("answer_bits", small([32, 26, 27, 32])),
        ("answer_bits", small([32, 26, 8, 32])),
        ("mask_bits", small([32, 26, 26, 33])),
    ];
    refuses::<MatrixScheme<DoublePir>>(good(), unreliable, fields);
}

#[test]
fn messages_of_other_forms_are_refused() {
    let table = Table::checked(literal([3, 50, 8], [27, 27, 13, 23]), bytes(150));
    let mut client = table.client("prepare");
    let (query, ..) = table.lookup(&mut client, 49, "refused");
    // Seven words of 27 bits leave three bits of the first part's last byte.
    assert!(is_not_canonical::<Query, _>(&table.params, &with_word(&query, 7 * 27, 3, 4)));
    let (_, pending) = client.query(RecordIndex(0), &mut seeded("foreign")).unwrap();
    let other = Table::checked(literal([2, 50, 8], [27, 27, 13, 23]), bytes(100));
    let (_, foreign, _) = other.lookup(&mut other.client("prepare"), 0, "foreign");
    let refused = client.recover(pending, OneServer(foreign));
    assert!(matches!(refused, Err(Error::Misuse(Misuse::ForeignValue("pending query")))));
}

#[test]
fn hints_of_other_words_are_refused() {
    let table = Table::checked(literal([1, 50, 8], WIDEST), bytes(50));
    let mut prepare = Prepare::begin(&table.params, &mut seeded("prepare")).unwrap();
    let mut bad = table.image.artifact(Artifact::Hint).unwrap()[..8].to_vec();
    bad[4..].fill(0xFF);
    let refused = prepare.absorb(Artifact::Hint, &bad);
    assert!(matches!(refused, Err(Error::Peer(PeerMisbehaved::NotCanonical("hint")))));
}

//! InsPIRe^(2) from outside: noise, refusals, shapes, what a change touches.
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test"
)]

mod aborts;
mod noise;

use sotto_core::{Image as _, RecordChange, Section, UpdateImage, Wire as _};
use sotto_inspire_two::InspireTwo;
use sotto_inspire_two::literal::ParamsLiteral;
use sotto_silent::MatrixScheme;
use sotto_silent::lattice::{PUBLIC_SEED, SET};
use sotto_silent::message::{Answer, Query};
use sotto_silent::unit_vector::largest;
use sotto_testkit::memory::MemorySink;
use sotto_testkit::served::{InProcessServer, is_not_canonical, refuses, with_word};
use sotto_testkit::vectors::bytes;
use std::sync::LazyLock;

/// A table, and a server that has it.
type Table = InProcessServer<MatrixScheme<InspireTwo>>;

/// A table of records with an odd number of bytes, whose last column is not full.
static TABLE: LazyLock<Table> =
    LazyLock::new(|| Table::checked(literal([21, 30, 4], [45, 44], 46, [26, 19], [27, 19]), bytes(21 * 30)));

fn literal(
    [record_bytes, records, blocks]: [u64; 3],
    query_bits: [u8; 2],
    key_bits: u8,
    inner_bits: [u8; 2],
    answer_bits: [u8; 2],
) -> ParamsLiteral {
    let (set, seed) = (SET.into(), PUBLIC_SEED);
    ParamsLiteral { set, record_bytes, records, blocks, query_bits, key_bits, inner_bits, answer_bits, seed }
}

/// Records of even and odd sizes, a grid that is not full, one and several packed ciphertexts of bodies.
#[test]
fn records_of_all_shapes_come_back() {
    for sizes in [[5, 23, 4], [1, 3, 1], [1500, 9, 2]] {
        let literal = literal(sizes, [45, 45], 46, [26, 20], [28, 19]);
        let rows = bytes((sizes[0] * sizes[1]) as usize);
        Table::checked(literal, rows).come_back(&format!("{sizes:?}"));
    }
}

#[test]
fn words_that_no_residue_is_cut_to_are_refused() {
    let (table, params) = (&*TABLE, &TABLE.params);
    let (asked, answer, _) = table.lookup(&mut table.client("prepare"), 3, "query");
    // The first word of each vector and of the key. 45 bits of eight words, and 44 of four.
    for (at, bits) in [(0, 45), (8 * 45, 44), (8 * 45 + 4 * 44, 46)] {
        let bad = with_word(&asked, at, bits, u128::from(largest(bits as u32)) + 1);
        assert!(is_not_canonical::<Query, _>(params, &bad), "{at}");
    }
    let mut sent = Vec::new();
    answer.put(params, &mut sent);
    assert_eq!(Answer::take(params, &sent).unwrap(), answer);
    // 14 bodies of 19 bits leave bits of the last byte.
    assert!(is_not_canonical::<Answer, _>(params, &with_word(&sent, 8 * sent.len() - 1, 1, 1)));
}

#[test]
fn literals_that_promise_too_much_are_refused() {
    let with = |sizes| literal(sizes, [43, 42], 46, [26, 19], [26, 19]);
    let good = || with([64, 1 << 20, 64]);
    let unreliable = [
        with([64, 1 << 24, 64]),
        ParamsLiteral { query_bits: [43, 33], ..good() },
        ParamsLiteral { inner_bits: [23, 19], ..good() },
        ParamsLiteral { answer_bits: [23, 19], ..good() },
    ];
    let fields = [
        ("set", ParamsLiteral { set: "n1024".into(), ..good() }),
        ("seed", ParamsLiteral { seed: sotto_prg::PublicSeed([1; 32]), ..good() }),
        ("record_bytes", with([0, 10, 1])),
        ("record_bytes", with([2049, 10, 1])),
        ("records", with([64, 0, 1])),
        ("records", with([64, (1 << 21) + 1, 2])),
        ("blocks", with([64, 10, 0])),
        ("blocks", with([64, 10, 3])),
        ("blocks", with([64, 1 << 20, 1 << 17])),
        ("query_bits", ParamsLiteral { query_bits: [51, 42], ..good() }),
        ("query_bits", ParamsLiteral { query_bits: [43, 31], ..good() }),
        ("key_bits", ParamsLiteral { key_bits: 49, ..good() }),
        ("inner_bits", ParamsLiteral { inner_bits: [38, 19], ..good() }),
        ("inner_bits", ParamsLiteral { inner_bits: [26, 27], ..good() }),
        ("answer_bits", ParamsLiteral { answer_bits: [26, 17], ..good() }),
    ];
    refuses::<MatrixScheme<InspireTwo>>(good(), unreliable, fields);
}

/// One byte changes the weights and the mask of its block, and all digits; no other block.
#[test]
fn a_change_touches_its_block_and_the_second_layer() {
    let table = &*TABLE;
    let [_, weights, masks, digits, _] = table.params.starts().map(|start| start as usize);
    // Record 13 is block 1 of column 3.
    let mut records = table.rows.clone();
    records[13 * 21 + 20] ^= 1;
    let change = RecordChange { record: 13, offset: 20, bytes: vec![records[13 * 21 + 20]] };
    let sink = MemorySink::holding(table.image.clone());
    MatrixScheme::<InspireTwo>::update_image(&table.params, &[change], &sink).unwrap();
    let revised = sink.into_image();
    let [old, new] = [&table.image, &revised].map(|image| image.section(Section::Resident).unwrap());
    let layout = table.params.weights();
    let height = layout.rows() / 4;
    for row in 0..layout.rows() {
        let differs = (0..layout.cols()).any(|col| {
            [old, new].map(|x| x[weights + layout.offset(row, col)]).windows(2).any(|x| x[0] != x[1])
        });
        assert_eq!(differs, row / height == 1, "{row}");
    }
    let layout = table.params.mask_matrix();
    for col in 0..4 {
        let differs = (0..layout.rows())
            .any(|row| old[masks + layout.offset(row, col)] != new[masks + layout.offset(row, col)]);
        assert_eq!(differs, col == 1, "{col}");
    }
    assert_ne!(old[digits..], new[digits..]);
    Table::opened(table.params.clone(), records, revised).come_back("changed");
}

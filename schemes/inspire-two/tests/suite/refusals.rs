//! Refused literals and words, and what a change touches.

use crate::setup::{Table, bytes, literal};
use sotto_core::{
    Error, Image as _, Params as _, ParamsError, PeerMisbehaved, RecordChange, Section, UpdateImage, Wire,
};
use sotto_inspire_two::InspireTwo;
use sotto_inspire_two::literal::ParamsLiteral;
use sotto_math::bits::pack_words;
use sotto_silent::message::{Answer, Query};
use sotto_silent::unit_vector::largest;
use sotto_silent::{MatrixScheme, Params};
use sotto_testkit::memory::MemorySink;
use std::sync::LazyLock;

/// A table of records with an odd number of bytes, whose last column is not full.
static TABLE: LazyLock<Table> =
    LazyLock::new(|| Table::checked(literal([21, 30, 4], [45, 44], 46, [26, 19], [27, 19]), bytes(21 * 30)));

#[test]
fn words_that_no_residue_is_cut_to_are_refused() {
    let table = &*TABLE;
    let params = &table.params;
    let (asked, answer, _) = table.lookup(&mut table.client("prepare"), 3, "query");
    let refused = |bytes: &[u8]| {
        matches!(Query::take(params, bytes), Err(Error::Peer(PeerMisbehaved::NotCanonical(_))))
    };
    // The first word of each vector and of the key. 45 bits of eight words, and 44 of four.
    let (second, key) = (45, 45 + 22);
    for (at, width) in [(0, 45), (second, 44), (key, 46)] {
        let mut word = Vec::new();
        pack_words(&[largest(width) + 1], width, &mut word);
        let mut bad = asked.clone();
        let whole = width as usize / 8;
        bad[at..at + whole].copy_from_slice(&word[..whole]);
        bad[at + whole] |= word[whole];
        assert!(refused(&bad), "{at}");
    }
    let mut sent = Vec::new();
    answer.put(params, &mut sent);
    assert_eq!(Answer::take(params, &sent).unwrap(), answer);
    // 14 bodies of 19 bits leave bits of the last byte.
    *sent.last_mut().unwrap() |= 0x80;
    assert!(matches!(Answer::take(params, &sent), Err(Error::Peer(PeerMisbehaved::NotCanonical(_)))));
}

#[test]
fn literals_that_promise_too_much_are_refused() {
    let refused = |literal| match Params::<InspireTwo>::check(literal) {
        Err(Error::Params(error)) => error,
        other => panic!("{other:?}"),
    };
    let with = |sizes| literal(sizes, [43, 42], 46, [26, 19], [26, 19]);
    let good = || with([64, 1 << 20, 64]);
    assert!(Params::<InspireTwo>::check(good()).is_ok());
    for unreliable in [
        with([64, 1 << 24, 64]),
        ParamsLiteral { query_bits: [43, 33], ..good() },
        ParamsLiteral { inner_bits: [23, 19], ..good() },
        ParamsLiteral { answer_bits: [23, 19], ..good() },
    ] {
        assert!(matches!(refused(unreliable), ParamsError::Unreliable { .. }));
    }
    for (name, bad) in [
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
    ] {
        match refused(bad) {
            ParamsError::Field { field, .. } => assert_eq!(field, name),
            other => panic!("{name}: {other:?}"),
        }
    }
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
    MatrixScheme::<InspireTwo>::revise(&table.params, &[change], &sink).unwrap();
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
    let layout = table.params.masks();
    for col in 0..4 {
        let differs = (0..layout.rows())
            .any(|row| old[masks + layout.offset(row, col)] != new[masks + layout.offset(row, col)]);
        assert_eq!(differs, col == 1, "{col}");
    }
    assert_ne!(old[digits..], new[digits..]);
    let changed = Table::opened(table.params.clone(), records, revised);
    let mut client = changed.client("prepare");
    for index in [9, 12, 13, 29] {
        let (_, _, record) = changed.lookup(&mut client, index, "changed");
        assert_eq!(record, changed.row(index));
    }
}

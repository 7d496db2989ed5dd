//! Refusals of servers and clients, and the party at fault.

use crate::setup::{Table, bytes, literal};
use sotto_core::{
    Error, Image as _, Misuse, Params as _, ParamsError, PeerMisbehaved, RecordChange, Section, UpdateImage,
    Wire,
};
use sotto_hintless::Hintless;
use sotto_hintless::literal::ParamsLiteral;
use sotto_hintless::message::{Answer, Query};
use sotto_hintless::params::Params;
use sotto_testkit::memory::MemorySink;

#[test]
fn values_that_are_not_reduced_are_refused() {
    let table = Table::checked(literal(70, 9, 64), bytes(70 * 9));
    let params = &table.params;
    let (asked, answer, _) = table.lookup(&mut table.client("prepare"), 3, "query");
    assert!(Query::take(params, &asked).is_ok());
    let not_canonical = |error| matches!(error, Error::Peer(PeerMisbehaved::NotCanonical(_)));
    // The first value of the ciphertext of s, and the last of the last key.
    for at in [9 * 4, asked.len() - 5] {
        let mut bad = asked.clone();
        bad[at..at + 5].fill(0xff);
        assert!(Query::take(params, &bad).is_err_and(not_canonical), "{at}");
    }
    for len in [0, asked.len() - 1, asked.len() + 1] {
        let mut bad = asked.clone();
        bad.resize(len, 0);
        assert!(matches!(Query::take(params, &bad), Err(Error::Peer(PeerMisbehaved::Length { .. }))));
    }
    let mut sent = Vec::new();
    answer.put(params, &mut sent);
    assert_eq!(Answer::take(params, &sent).unwrap(), answer);
    assert!(matches!(Answer::take(params, &sent[1..]), Err(Error::Peer(PeerMisbehaved::Length { .. }))));
    let at = 70 * 4;
    sent[at..at + 5].fill(0xff);
    assert!(Answer::take(params, &sent).is_err_and(not_canonical));
}

#[test]
fn literals_that_promise_too_much_are_refused() {
    let refused = |literal| match Params::check(literal) {
        Err(Error::Params(error)) => error,
        other => panic!("{other:?}"),
    };
    let good = || literal(4096, 1000, 1024);
    assert!(Params::check(good()).is_ok());
    for (name, bad) in [
        ("set", ParamsLiteral { set: "n1024".into(), ..good() }),
        ("seed", ParamsLiteral { seed: sotto_prg::PublicSeed([1; 32]), ..good() }),
        ("record_bytes", literal(0, 10, 64)),
        ("record_bytes", literal((1 << 20) + 1, 10, 64)),
        ("records", literal(4096, 0, 64)),
        ("records", literal(4096, (1 << 20) + 1, 64)),
        ("block_rows", literal(4096, 10, 8)),
        ("block_rows", literal(4096, 10, 96)),
        ("block_rows", literal(4096, 10, 4096)),
    ] {
        match refused(bad) {
            ParamsError::Field { field, .. } => assert_eq!(field, name),
            other => panic!("{name}: {other:?}"),
        }
    }
}

/// Blocks of rows with changed bytes are computed again, and the image is that of a fresh encoding.
#[test]
fn a_revised_image_is_a_fresh_one() {
    let table = Table::checked(literal(64 * 5 + 3, 30, 64), bytes((64 * 5 + 3) * 30));
    let mut records = table.rows.clone();
    let changes: Vec<RecordChange> = [(2u64, 7u64), (29, 64 * 5 + 2), (3, 64)]
        .into_iter()
        .map(|(record, offset)| {
            let at = record as usize * table.params.l() + offset as usize;
            records[at] ^= 0x91;
            RecordChange { record, offset, bytes: vec![records[at]] }
        })
        .collect();
    let sink = MemorySink::holding(table.image.clone());
    Hintless::revise(&table.params, &changes, &sink).unwrap();
    let revised = sink.into_image();
    let fresh = Table::checked(table.params.literal().clone(), records);
    assert!(revised.section(Section::Resident) == fresh.image.section(Section::Resident));
    let changed = Table::opened(table.params.clone(), fresh.rows, revised);
    let mut client = changed.client("prepare");
    for index in [2, 3, 29] {
        let (_, _, record) = changed.lookup(&mut client, index, "changed");
        assert_eq!(record, changed.row(index));
    }
    let past = RecordChange { record: 30, offset: 0, bytes: vec![0] };
    let sink = MemorySink::holding(changed.image.clone());
    let refused = Hintless::revise(&changed.params, &[past], &sink);
    assert!(matches!(refused, Err(Error::Misuse(Misuse::IndexPastEnd { .. }))));
}

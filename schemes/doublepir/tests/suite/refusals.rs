//! Refused tables, messages and images, with their errors.

use crate::setup::{Table, WIDEST, bytes, literal};
use sotto_core::{
    Artifact, Client as _, Error, Image as _, Misuse, OneServer, Params as _, ParamsError, PeerMisbehaved,
    Prepare as _, RecordChange, RecordIndex, Section, Server as _, UpdateImage, Wire,
};
use sotto_doublepir::DoublePir;
use sotto_doublepir::client::Prepare;
use sotto_doublepir::literal::ParamsLiteral;
use sotto_doublepir::message::{Answer, Query};
use sotto_doublepir::params::Params;
use sotto_doublepir::server::Server;
use sotto_testkit::memory::{MemoryImage, MemorySink};
use sotto_testkit::rng::seeded;
use std::sync::Arc;

#[test]
fn literals_that_promise_too_much_are_refused() {
    let refused = |literal| match Params::check(literal) {
        Err(Error::Params(error)) => error,
        other => panic!("{other:?}"),
    };
    let good = || literal([4, 1 << 20, 64], [27, 26, 12, 22]);
    assert!(Params::check(good()).is_ok());
    // The first pass has too many columns for its bits; the second too few bits in answers, and in masks.
    for (blocks, bits) in [(64, [24, 26, 12, 22]), (1 << 14, [27, 24, 9, 22]), (64, [27, 26, 12, 18])] {
        let unreliable = refused(literal([4, 1 << 22, blocks], bits));
        assert!(matches!(unreliable, ParamsError::Unreliable { .. }), "{bits:?}: {unreliable:?}");
    }
    for (name, bad) in [
        ("set", ParamsLiteral { set: "n2048".into(), ..good() }),
        ("seed", ParamsLiteral { seed: sotto_prg::PublicSeed([1; 32]), ..good() }),
        ("record_bytes", literal([0, 10, 1], WIDEST)),
        ("record_bytes", literal([65, 10, 1], WIDEST)),
        ("blocks", literal([1, 10, 0], WIDEST)),
        ("blocks", literal([1, 10, 3], WIDEST)),
        ("blocks", literal([1, 10, 1 << 17], WIDEST)),
        ("records", literal([1, 0, 1], WIDEST)),
        ("records", literal([1, (1 << 20) + 1, 2], WIDEST)),
        ("query_bits", literal([1, 10, 1], [33, 32, 32, 32])),
        ("query_bits", literal([1, 10, 1], [32, 23, 23, 32])),
        ("answer_bits", literal([1, 10, 1], [32, 26, 27, 32])),
        ("answer_bits", literal([1, 10, 1], [32, 26, 8, 32])),
        ("mask_bits", literal([1, 10, 1], [32, 26, 26, 33])),
    ] {
        match refused(bad) {
            ParamsError::Field { field, .. } => assert_eq!(field, name),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn messages_of_other_forms_are_refused() {
    let table = Table::checked(literal([3, 50, 8], [27, 27, 13, 23]), bytes(150));
    let params = &table.params;
    let (query, answer, _) = table.lookup(&mut table.client("prepare"), 49, "refused");
    assert!(Query::take(params, &query).is_ok());
    assert!(matches!(Query::take(params, &query[1..]), Err(Error::Peer(PeerMisbehaved::Length { .. }))));
    // Seven words of 27 bits leave three bits of the first part's last byte.
    let mut bad = query.clone();
    bad[23] |= 0x80;
    assert!(matches!(Query::take(params, &bad), Err(Error::Peer(PeerMisbehaved::NotCanonical("query")))));
    let mut sent = Vec::new();
    answer.put(params, &mut sent);
    assert_eq!(Answer::take(params, &sent).unwrap(), answer);
    assert!(matches!(Answer::take(params, &sent[1..]), Err(Error::Peer(PeerMisbehaved::Length { .. }))));
    let (_, pending) = table.client("prepare").query(RecordIndex(0), &mut seeded("foreign")).unwrap();
    let other = Table::checked(literal([2, 50, 8], [27, 27, 13, 23]), bytes(100));
    let (_, foreign, _) = other.lookup(&mut other.client("prepare"), 0, "foreign");
    let refused = table.client("prepare").recover(pending, OneServer(foreign));
    assert!(matches!(refused, Err(Error::Misuse(Misuse::ForeignValue("ticket")))));
}

#[test]
fn images_and_hints_that_disagree_are_refused() {
    let table = Table::checked(literal([1, 50, 8], WIDEST), bytes(50));
    let sections = [Section::Resident, Section::Public(Artifact::Hint)];
    for short in sections {
        let sink = MemorySink::new();
        for section in sections {
            let whole = table.image.section(section).unwrap();
            let bytes = &whole[..whole.len() - usize::from(section == short)];
            sotto_core::Sink::reserve(&sink, section, bytes.len() as u64).unwrap();
            sotto_core::Sink::write_at(&sink, section, 0, bytes).unwrap();
        }
        let image: MemoryImage = sink.into_image();
        let opened = Server::open(&table.params, Arc::new(image));
        assert!(matches!(opened, Err(Error::Peer(PeerMisbehaved::Length { .. }))), "{short:?}");
    }
    let mut prepare = Prepare::begin(&table.params, &mut seeded("prepare")).unwrap();
    let mut bad = table.image.artifact(Artifact::Hint).unwrap()[..8].to_vec();
    bad[4..].fill(0xFF);
    let refused = prepare.absorb(Artifact::Hint, &bad);
    assert!(matches!(refused, Err(Error::Peer(PeerMisbehaved::NotCanonical("hint")))));
}

#[test]
fn changes_outside_the_table_are_misuse() {
    // The last column has room for more records than there are.
    let table = Table::checked(literal([2, 9, 8], WIDEST), bytes(18));
    for (record, offset, bytes) in [(9, 0, vec![1]), (8, 2, vec![1]), (8, 1, vec![1, 2])] {
        let sink = MemorySink::holding(table.image.clone());
        let refused = DoublePir::revise(&table.params, &[RecordChange { record, offset, bytes }], &sink);
        assert!(matches!(refused, Err(Error::Misuse(Misuse::IndexPastEnd { .. }))), "{record} {offset}");
    }
    let past = table.client("prepare").query(RecordIndex(9), &mut seeded("past"));
    assert!(matches!(past, Err(Error::Misuse(Misuse::IndexPastEnd { index: 9, len: 9 }))));
}

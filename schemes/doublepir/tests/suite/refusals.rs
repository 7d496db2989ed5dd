//! Refused literals, and messages, hints and images of other forms.

use crate::setup::{Table, WIDEST, bytes, literal};
use sotto_core::{
    Artifact, Client as _, Error, Misuse, OneServer, Params as _, ParamsError, PeerMisbehaved, Prepare as _,
    RecordIndex, Wire,
};
use sotto_doublepir::DoublePir;
use sotto_doublepir::literal::ParamsLiteral;
use sotto_silent::Params;
use sotto_silent::client::Prepare;
use sotto_silent::message::{Answer, Query};
use sotto_testkit::rng::seeded;

#[test]
fn literals_that_promise_too_much_are_refused() {
    let refused = |literal| match Params::<DoublePir>::check(literal) {
        Err(Error::Params(error)) => error,
        other => panic!("{other:?}"),
    };
    let good = || literal([4, 1 << 20, 64], [27, 26, 12, 22]);
    assert!(Params::<DoublePir>::check(good()).is_ok());
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
    // Seven words of 27 bits leave three bits of the first part's last byte.
    let mut bad = query;
    bad[23] |= 0x80;
    assert!(matches!(Query::take(params, &bad), Err(Error::Peer(PeerMisbehaved::NotCanonical("query")))));
    let mut sent = Vec::new();
    answer.put(params, &mut sent);
    assert_eq!(Answer::take(params, &sent).unwrap(), answer);
    let (_, pending) = table.client("prepare").query(RecordIndex(0), &mut seeded("foreign")).unwrap();
    let other = Table::checked(literal([2, 50, 8], [27, 27, 13, 23]), bytes(100));
    let (_, foreign, _) = other.lookup(&mut other.client("prepare"), 0, "foreign");
    let refused = table.client("prepare").recover(pending, OneServer(foreign));
    assert!(matches!(refused, Err(Error::Misuse(Misuse::ForeignValue("ticket")))));
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

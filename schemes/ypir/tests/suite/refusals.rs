//! Refused literals, messages and changes.

use crate::setup::{Table, WIDEST, bytes, literal};
use sotto_core::{Error, Misuse, Params as _, ParamsError, PeerMisbehaved, RecordChange, UpdateImage, Wire};
use sotto_silent::message::{Answer, Query};
use sotto_silent::{MatrixScheme, Params};
use sotto_testkit::memory::MemorySink;
use sotto_ypir::Ypir;
use sotto_ypir::literal::ParamsLiteral;

#[test]
fn literals_that_promise_too_much_are_refused() {
    let refused = |literal| match Params::<Ypir>::check(literal) {
        Err(Error::Params(error)) => error,
        other => panic!("{other:?}"),
    };
    let good = || literal([2, 1 << 20, 64], [26, 42, 46, 26, 19]);
    assert!(Params::<Ypir>::check(good()).is_ok());
    // The first pass has too many columns for its bits; the second too few bits of words, of keys, and of masks.
    for (records, bits) in [
        (1 << 24, [24, 42, 46, 26, 19]),
        (1 << 20, [26, 32, 46, 26, 19]),
        (1 << 20, [26, 42, 40, 26, 19]),
        (1 << 20, [26, 42, 46, 22, 19]),
    ] {
        let unreliable = refused(literal([2, records, 64], bits));
        assert!(matches!(unreliable, ParamsError::Unreliable { .. }), "{bits:?}: {unreliable:?}");
    }
    let [set, other] = good().sets;
    let [seed, _] = good().seeds;
    for (name, bad) in [
        ("sets", ParamsLiteral { sets: [other, set], ..good() }),
        ("seeds", ParamsLiteral { seeds: [seed, seed], ..good() }),
        ("record_bytes", literal([0, 10, 1], WIDEST)),
        ("record_bytes", literal([65, 10, 1], WIDEST)),
        ("blocks", literal([1, 10, 0], WIDEST)),
        ("blocks", literal([1, 10, 6], WIDEST)),
        ("blocks", literal([1, 10, 1 << 17], WIDEST)),
        ("records", literal([1, 0, 1], WIDEST)),
        ("records", literal([1, (1 << 19) + 1, 1], WIDEST)),
        ("query_bits", literal([1, 10, 1], [23, 50, 50, 37, 37])),
        ("query_bits", literal([1, 10, 1], [32, 51, 50, 37, 37])),
        ("key_bits", literal([1, 10, 1], [32, 50, 39, 37, 37])),
        ("answer_bits", literal([1, 10, 1], [32, 50, 50, 38, 37])),
        ("answer_bits", literal([1, 10, 1], [32, 50, 50, 26, 27])),
    ] {
        match refused(bad) {
            ParamsError::Field { field, .. } => assert_eq!(field, name),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn messages_of_other_forms_are_refused() {
    let table = Table::checked(literal([1, 50, 8], [27, 42, 46, 26, 19]), bytes(50));
    let params = &table.params;
    let (query, answer, _) = table.lookup(&mut table.client("prepare"), 49, "refused");
    // Seven words of 27 bits leave three bits of the first part's last byte. Behind it, a word of the second part and a
    // coefficient of the last key are larger than any residue.
    for (at, bytes) in [(23, [0x80; 1].to_vec()), (24, vec![0xFF; 6]), (query.len() - 6, vec![0xFF; 6])] {
        let mut bad = query.clone();
        bad[at..at + bytes.len()].copy_from_slice(&bytes);
        let refused = Query::take(params, &bad);
        assert!(matches!(refused, Err(Error::Peer(PeerMisbehaved::NotCanonical("query")))), "{at}");
    }
    let mut sent = Vec::new();
    answer.put(params, &mut sent);
    assert_eq!(Answer::take(params, &sent).unwrap(), answer);
    // A fresh body has 19 bits of three bytes.
    *sent.last_mut().unwrap() |= 0x80;
    assert!(matches!(Answer::take(params, &sent), Err(Error::Peer(PeerMisbehaved::NotCanonical("answer")))));
}

#[test]
fn changes_outside_the_table_are_misuse() {
    // The last column has room for more records than there are.
    let table = Table::checked(literal([2, 9, 8], WIDEST), bytes(18));
    for (record, offset, bytes) in [(9, 0, vec![1]), (8, 2, vec![1]), (8, 1, vec![1, 2])] {
        let sink = MemorySink::holding(table.image.clone());
        let change = RecordChange { record, offset, bytes };
        let refused = MatrixScheme::<Ypir>::revise(&table.params, &[change], &sink);
        assert!(matches!(refused, Err(Error::Misuse(Misuse::IndexPastEnd { .. }))), "{record} {offset}");
    }
}

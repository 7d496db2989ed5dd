//! Refused literals, and values that are not reduced.

use crate::setup::{Table, bytes, literal};
use sotto_core::{Error, Params as _, ParamsError, PeerMisbehaved, Wire};
use sotto_hintless::Hintless;
use sotto_hintless::literal::ParamsLiteral;
use sotto_silent::Params;
use sotto_silent::message::{Answer, Query};

#[test]
fn values_that_are_not_reduced_are_refused() {
    let table = Table::checked(literal(70, 9, 64), bytes(70 * 9));
    let params = &table.params;
    let (asked, answer, _) = table.lookup(&mut table.client("prepare"), 3, "query");
    let not_canonical = |error| matches!(error, Error::Peer(PeerMisbehaved::NotCanonical(_)));
    // The first value of the ciphertext of s, and the last of the last key.
    for at in [9 * 4, asked.len() - 5] {
        let mut bad = asked.clone();
        bad[at..at + 5].fill(0xff);
        assert!(Query::take(params, &bad).is_err_and(not_canonical), "{at}");
    }
    let mut sent = Vec::new();
    answer.put(params, &mut sent);
    assert_eq!(Answer::take(params, &sent).unwrap(), answer);
    let at = 70 * 4;
    sent[at..at + 5].fill(0xff);
    assert!(Answer::take(params, &sent).is_err_and(not_canonical));
}

#[test]
fn literals_that_promise_too_much_are_refused() {
    let refused = |literal| match Params::<Hintless>::check(literal) {
        Err(Error::Params(error)) => error,
        other => panic!("{other:?}"),
    };
    let good = || literal(4096, 1000, 1024);
    assert!(Params::<Hintless>::check(good()).is_ok());
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

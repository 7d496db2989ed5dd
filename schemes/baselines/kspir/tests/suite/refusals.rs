//! Refusals of servers and clients, and the party at fault.

use crate::setup::{literal, table};
use sotto_core::{
    Client as _, Error, Misuse, OneServer, Params as _, ParamsError, PeerMisbehaved, RecordIndex,
    Server as _, Wire,
};
use sotto_kspir::KsPir;
use sotto_kspir::literal::ParamsLiteral;
use sotto_kspir::ring::{N, PRIMES, ring};
use sotto_lattice::ring::ModulusLevel;
use sotto_math::bits::pack;
use sotto_silent::Params;
use sotto_silent::message::{Answer, Keys, Query};
use sotto_testkit::rng::seeded;

#[test]
fn coefficients_that_are_not_reduced_are_refused() {
    let table = table(literal(3, [1, 4, 2, 2]));
    let (params, mut client) = (&table.params, table.client("refusals"));
    let (asked, answer, _) = table.lookup(&mut client, 2, "query");
    let mut keys = Vec::new();
    client.keys().put(params, &mut keys);
    let refused = |error: Option<Error>| matches!(error, Some(Error::Peer(PeerMisbehaved::NotCanonical(_))));
    let with = |bytes: &[u8], at: usize, width: u32, word: u128| {
        let mut first = Vec::new();
        pack(&[word], width, &mut first);
        let mut bytes = bytes.to_vec();
        bytes[at..at + first.len()].copy_from_slice(&first);
        bytes
    };
    // The first coefficient of the vector's body, and of the first row's: as large as they may be, and one more.
    let ring = ring().unwrap();
    let main = u128::from(PRIMES[0]) * u128::from(PRIMES[1]);
    assert_eq!(main, ring.modulus(ModulusLevel::Main));
    for (at, width, modulus) in [(32, 80, ring.modulus(ModulusLevel::Full)), (32 + N * 10, 56, main)] {
        assert!(Query::take(params, &with(&asked, at, width, modulus - 1)).is_ok(), "{at}");
        assert!(refused(Query::take(params, &with(&asked, at, width, modulus)).err()), "{at}");
    }
    // The first body of a baby step, and the last one of packing.
    for (at, width, modulus) in [(32, 80, ring.modulus(ModulusLevel::Full)), (keys.len() - N * 7, 56, main)] {
        assert!(Keys::take(params, &with(&keys, at, width, modulus - 1)).is_ok(), "{at}");
        assert!(refused(Keys::take(params, &with(&keys, at, width, modulus)).err()), "{at}");
    }
    let mut sent = Vec::new();
    answer.put(params, &mut sent);
    assert_eq!(Answer::take(params, &sent).unwrap(), answer);
}

#[test]
fn sessions_of_another_grid_are_refused() {
    let [table, other] = [[1, 4, 2, 2], [1, 4, 4, 2]].map(|grid| table(literal(3, grid)));
    let (mut client, stranger) = (table.client("refusals"), other.client("refusals"));
    let session = other.server.admit(stranger.keys()).unwrap();
    let (OneServer(query), _) = client.query(RecordIndex(1), &mut seeded("query")).unwrap();
    assert!(matches!(table.server.answer(&session, query), Err(Error::Misuse(Misuse::ForeignValue(_)))));
}

#[test]
fn literals_that_promise_too_much_are_refused() {
    let refused = |literal| match Params::<KsPir>::check(literal) {
        Err(Error::Params(error)) => error,
        other => panic!("{other:?}"),
    };
    let good = || literal(2048 * 16, [1, 2048, 16, 128]);
    assert!(Params::<KsPir>::check(good()).is_ok());
    let narrow = ParamsLiteral { answer_bits: [18, 18], ..good() };
    assert!(matches!(refused(narrow), ParamsError::Unreliable { .. }));
    for (name, bad) in [
        ("set", ParamsLiteral { set: "n4096-q50".into(), ..good() }),
        ("records", ParamsLiteral { records: 0, ..good() }),
        ("records", ParamsLiteral { records: 2048 * 16 + 1, ..good() }),
        ("columns", ParamsLiteral { pages: 0, ..good() }),
        ("columns", ParamsLiteral { pages: 129, ..good() }),
        ("columns", ParamsLiteral { columns: 4096, ..good() }),
        ("columns", ParamsLiteral { columns: 1000, ..good() }),
        ("columns", ParamsLiteral { blocks: 0, ..good() }),
        ("columns", ParamsLiteral { blocks: 8192, ..good() }),
        ("columns", ParamsLiteral { babies: 1, ..good() }),
        ("columns", ParamsLiteral { babies: 4096, ..good() }),
        ("answer_bits", ParamsLiteral { answer_bits: [43, 20], ..good() }),
        ("answer_bits", ParamsLiteral { answer_bits: [26, 27], ..good() }),
        ("answer_bits", ParamsLiteral { answer_bits: [26, 17], ..good() }),
    ] {
        match refused(bad) {
            ParamsError::Field { field, .. } => assert_eq!(field, name),
            other => panic!("{name}: {other:?}"),
        }
    }
}

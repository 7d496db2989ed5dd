//! Refusals of servers and clients, and the party at fault.

use crate::setup::{Table, bytes, literal};
use sotto_core::{
    Client as _, Error, Misuse, OneServer, Params as _, ParamsError, PeerMisbehaved, RecordIndex, Wire,
};
use sotto_inspire::Inspire;
use sotto_inspire::literal::ParamsLiteral;
use sotto_math::bits::pack_words;
use sotto_silent::Params;
use sotto_silent::lattice::N;
use sotto_silent::message::Query;
use sotto_silent::unit_vector::largest;
use sotto_testkit::rng::seeded;

#[test]
fn words_that_no_residue_is_cut_to_are_refused() {
    let table = Table::checked(literal([50, 17, 2], [50, 50], [50, 50], [37, 30]), bytes(50 * 17));
    let params = &table.params;
    let (asked, _, _) = table.lookup(&mut table.client("prepare"), 3, "query");
    let mut word = Vec::new();
    pack_words(&[largest(50) + 1], 50, &mut word);
    let refused = |bytes: &[u8]| {
        matches!(Query::take(params, bytes), Err(Error::Peer(PeerMisbehaved::NotCanonical(_))))
    };
    // The first word of the vector, and the first coefficients of a key, of a row for masks and of that for bodies.
    for polynomials in [7, 5, 2, 1, 0] {
        let at = if polynomials == 0 { 0 } else { asked.len() - polynomials * N * 50 / 8 };
        let mut bad = asked.clone();
        bad[at..at + word.len() - 1].copy_from_slice(&word[..word.len() - 1]);
        bad[at + word.len() - 1] |= word[word.len() - 1];
        assert!(refused(&bad), "{at}");
    }
    // Nine words of 50 bits leave six bits of their last byte.
    let mut bad = asked.clone();
    bad[(9usize * 50).div_ceil(8) - 1] |= 0x80;
    assert!(refused(&bad));
    // The last column has room for one more record, which is not there.
    let past = table.client("prepare").query(RecordIndex(17), &mut seeded("past"));
    assert!(matches!(past.map(|(OneServer(_), _)| ()), Err(Error::Misuse(Misuse::IndexPastEnd { .. }))));
}

#[test]
fn literals_that_promise_too_much_are_refused() {
    let refused = |literal| match Params::<Inspire>::check(literal) {
        Err(Error::Params(error)) => error,
        other => panic!("{other:?}"),
    };
    let of = |shape, words| literal(shape, words, [40, 46], [26, 18]);
    let good = || of([4096, 1000, 4], [43, 48]);
    assert!(Params::<Inspire>::check(good()).is_ok());
    assert!(matches!(refused(of([4096, 1 << 22, 4], [43, 48])), ParamsError::Unreliable { .. }));
    // Eight times as many terms, whose deviations add up.
    assert!(matches!(refused(of([4096, 1000, 8], [43, 46])), ParamsError::Unreliable { .. }));
    let short = ParamsLiteral { selector_bits: [32, 46], ..good() };
    assert!(matches!(refused(short), ParamsError::Unreliable { .. }));
    for (name, bad) in [
        ("set", ParamsLiteral { set: "n1024".into(), ..good() }),
        ("seed", ParamsLiteral { seed: sotto_prg::PublicSeed([1; 32]), ..good() }),
        ("record_bytes", of([0, 10, 2], [43, 48])),
        ("record_bytes", of([(1 << 20) + 1, 10, 2], [43, 48])),
        ("records", of([4096, 0, 2], [43, 48])),
        ("records", of([4096, (1 << 21) + 1, 2], [43, 48])),
        ("places", of([4096, 10, 0], [43, 48])),
        ("places", of([4096, 10, 1], [43, 48])),
        ("places", of([4096, 10, 3], [43, 48])),
        ("places", of([4096, 10, 16], [43, 48])),
        ("query_bits", of([4096, 10, 2], [51, 48])),
        ("key_bits", of([4096, 10, 2], [43, 39])),
        ("selector_bits", ParamsLiteral { selector_bits: [31, 46], ..good() }),
        ("selector_bits", ParamsLiteral { selector_bits: [40, 51], ..good() }),
        ("answer_bits", ParamsLiteral { answer_bits: [38, 18], ..good() }),
        ("answer_bits", ParamsLiteral { answer_bits: [26, 27], ..good() }),
        ("answer_bits", ParamsLiteral { answer_bits: [26, 16], ..good() }),
    ] {
        match refused(bad) {
            ParamsError::Field { field, .. } => assert_eq!(field, name),
            other => panic!("{name}: {other:?}"),
        }
    }
}

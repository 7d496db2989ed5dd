//! Literals, hints and deltas that are wrong, each refused with an error that says whose fault it was.

use crate::setup::{Table, frodo, literal};
use proptest::prelude::*;
use sotto_core::{
    Artifact, Client as _, Error, Misuse, OneServer, Params as _, PeerMisbehaved, Prepare as _, RecordIndex,
    Wire,
};
use sotto_silent::client::Prepare;
use sotto_silent::message::Answer;
use sotto_silent::{MatrixScheme, Params};
use sotto_simplepir::SimplePir;
use sotto_simplepir::literal::ParamsLiteral;
use sotto_testkit::rng::seeded;
use sotto_testkit::served::refuses;

#[test]
fn literals_that_promise_too_much_are_refused() {
    let good = || literal(100, 100, 26, 12);
    let unreliable = [(1 << 15, 1 << 15, 24, 24), (1, 1 << 19, 26, 26), (1 << 20, 1 << 15, 26, 9)];
    let unreliable = unreliable.map(|(l, m, b, t)| literal(l, m, b, t));
    let fields = [
        ("record_bytes", literal(0, 100, 26, 12)),
        ("record_bytes", literal((1 << 20) + 1, 100, 26, 12)),
        ("record_bytes", literal(u64::MAX, 100, 26, 12)),
        ("records", literal(100, 0, 26, 12)),
        ("records", literal(100, (1 << 19) + 1, 26, 12)),
        ("records", literal(100, u64::MAX, 26, 12)),
        ("query_bits", literal(100, 100, 23, 12)),
        ("query_bits", literal(100, 100, 33, 12)),
        ("query_bits", literal(100, 100, 255, 12)),
        ("answer_bits", literal(100, 100, 26, 8)),
        ("answer_bits", literal(100, 100, 26, 27)),
        ("answer_bits", literal(100, 100, 26, 0)),
        ("set", ParamsLiteral { set: "n512".into(), ..good() }),
        ("seed", ParamsLiteral { seed: sotto_prg::PublicSeed([7; 32]), ..good() }),
        ("records", frodo(100, (1 << 24) + 1)),
        ("query_bits", ParamsLiteral { query_bits: 31, ..frodo(100, 100) }),
        ("answer_bits", ParamsLiteral { answer_bits: 8, ..frodo(100, 100) }),
    ];
    refuses::<MatrixScheme<SimplePir>>(good(), unreliable, fields);
    // FrodoPIR's words are whole, and it has more records.
    assert!(Params::<SimplePir>::check(frodo(100, 1 << 24)).is_ok());
}

#[test]
fn literals_as_json() {
    let good = serde_json::to_string(&literal(100, 200, 26, 12)).unwrap();
    assert!(good.starts_with(r#"{"set":"n1024-q32-s11","record_bytes":100,"records":200,"query_bits":26,"answer_bits":12,"seed":"9cde"#), "{good}");
    assert_eq!(serde_json::from_str::<ParamsLiteral>(&good).unwrap(), literal(100, 200, 26, 12));
    for (from, to) in [
        ("{", r#"{"extra":1,"#),
        (r#""records":200,"#, ""),
        ("200", "200.0"),
        ("200", "-200"),
        ("200", "\"200\""),
        ("26", "300"),
        ("9cde", "9CDE"),
        ("9cde", ""),
    ] {
        assert!(serde_json::from_str::<ParamsLiteral>(&good.replacen(from, to, 1)).is_err(), "{to}");
    }
}

fn small() -> Table {
    Table::new(literal(3, 5, 27, 11), (0..15).map(|i| i * 17).collect())
}

#[test]
fn hints_that_are_none() {
    let table = small();
    let begin = || Prepare::begin(&table.params, &mut seeded("begin")).unwrap();
    // An unreduced word, whole or in pieces that cut it.
    let mut bad = table.hint().to_vec();
    bad[4..8].copy_from_slice(&sotto_silent::lwe::ring::Q.to_le_bytes());
    for cut in 0..12 {
        let mut prepare = begin();
        let result = prepare
            .absorb(Artifact::Hint, &bad[..cut])
            .and_then(|()| prepare.absorb(Artifact::Hint, &bad[cut..]));
        assert!(matches!(result, Err(Error::Peer(PeerMisbehaved::NotCanonical("hint")))), "{cut}");
    }
}

#[test]
fn answers_of_another_table() {
    let table = small();
    let mut client = table.client();
    let (_, pending) = client.query(RecordIndex(0), &mut seeded("other")).unwrap();
    let other = Params::<SimplePir>::check(literal(4, 5, 27, 11)).unwrap();
    let result = client.recover(pending, OneServer(Answer::take(&other, &[0; 6]).unwrap()));
    assert!(matches!(result.map(drop), Err(Error::Misuse(Misuse::ForeignValue(_)))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_shape_is_looked_up(
        l in 1u64..200, m in 1u64..2200, b in 26u8..=32, t in 10u8..=26, index: u64, fill: u8, step: u8,
    ) {
        let records = (0..l * m).map(|i| fill.wrapping_add((i as u8).wrapping_mul(step))).collect();
        let table = Table::new(literal(l, m, b, t), records);
        let index = index % m;
        let (query, answer, record) = table.lookup(&mut table.client(), index, "any");
        prop_assert_eq!(query.len() as u64, (m * u64::from(b)).div_ceil(8));
        prop_assert_eq!(answer.len() as u64, (l * u64::from(t)).div_ceil(8));
        prop_assert_eq!(record, table.row(index));
    }

    #[test]
    fn any_bytes_are_a_delta_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let delta = sotto_simplepir::delta::Delta::take(&literal(3, 5, 27, 11), &bytes).map(drop);
        prop_assert!(matches!(delta, Ok(()) | Err(Error::Peer(_))));
    }
}

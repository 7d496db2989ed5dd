//! Bytes and literals that are wrong, each refused with an error that says whose fault it was.

use crate::setup::{Table, frodo, literal};
use proptest::prelude::*;
use sotto_core::{
    Artifact, Error, Misuse, Params as _, ParamsError, PeerMisbehaved, Prepare as _, RecordIndex,
};
use sotto_core::{Client as _, OneServer, Section, Server as _, Wire};
use sotto_simplepir::SimplePir;
use sotto_simplepir::client::Prepare;
use sotto_simplepir::literal::ParamsLiteral;
use sotto_simplepir::message::{Answer, Query};
use sotto_simplepir::params::Params;
use sotto_simplepir::server::Server;
use sotto_testkit::rng::seeded;
use std::sync::Arc;

fn field_of(literal: ParamsLiteral) -> &'static str {
    match Params::check(literal) {
        Err(Error::Params(ParamsError::Field { field, .. })) => field,
        other => panic!("{other:?}"),
    }
}

#[test]
fn literals_out_of_range() {
    let good = literal(100, 100, 26, 12);
    assert!(Params::check(good.clone()).is_ok());
    for (record_bytes, records, query_bits, answer_bits, field) in [
        (0, 100, 26, 12, "record_bytes"),
        ((1 << 20) + 1, 100, 26, 12, "record_bytes"),
        (u64::MAX, 100, 26, 12, "record_bytes"),
        (100, 0, 26, 12, "records"),
        (100, (1 << 19) + 1, 26, 12, "records"),
        (100, u64::MAX, 26, 12, "records"),
        (100, 100, 23, 12, "query_bits"),
        (100, 100, 33, 12, "query_bits"),
        (100, 100, 255, 12, "query_bits"),
        (100, 100, 26, 8, "answer_bits"),
        (100, 100, 26, 27, "answer_bits"),
        (100, 100, 26, 0, "answer_bits"),
    ] {
        assert_eq!(field_of(literal(record_bytes, records, query_bits, answer_bits)), field);
    }
    assert_eq!(field_of(ParamsLiteral { set: "n512".into(), ..good.clone() }), "set");
    // FrodoPIR's words are whole, and it has more records.
    assert!(Params::check(frodo(100, 1 << 24)).is_ok());
    assert_eq!(field_of(frodo(100, (1 << 24) + 1)), "records");
    assert_eq!(field_of(ParamsLiteral { query_bits: 31, ..frodo(100, 100) }), "query_bits");
    assert_eq!(field_of(ParamsLiteral { answer_bits: 8, ..frodo(100, 100) }), "answer_bits");
    assert_eq!(field_of(ParamsLiteral { seed: sotto_prg::PublicSeed([7; 32]), ..good }), "seed");
}

#[test]
fn noise_without_margin() {
    for (l, m, b, t) in [(1 << 15, 1 << 15, 24, 24), (1, 1 << 19, 26, 26), (1 << 20, 1 << 15, 26, 9)] {
        let result = Params::check(literal(l, m, b, t));
        let Err(Error::Params(ParamsError::Unreliable { log2, required })) = result else {
            panic!("{l} {m}")
        };
        assert!(log2 > f64::from(required));
    }
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
fn messages_cut_at_each_byte_or_with_padding_set() {
    let table = small();
    let (query, answer, _) = table.lookup(&mut table.client(), 2, "cut");
    let peer = |result: Result<(), Error>| assert!(matches!(result, Err(Error::Peer(_))), "{result:?}");
    for len in 0..query.len() {
        peer(Query::take(&table.params, &query[..len]).map(drop));
    }
    for len in 0..answer.len() {
        peer(Answer::take(&table.params, &answer[..len]).map(drop));
    }
    // 5 * 27 = 135 of 136 bits; 3 * 11 = 33 of 40 bits.
    let padded =
        |bytes: &[u8], bit: u8| [&bytes[..bytes.len() - 1], &[bytes[bytes.len() - 1] | 1 << bit]].concat();
    peer(Query::take(&table.params, &padded(&query, 7)).map(drop));
    for bit in 1..8 {
        peer(Answer::take(&table.params, &padded(&answer, bit)).map(drop));
    }
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
    let mut prepare = begin();
    prepare.absorb(Artifact::Hint, &table.hint()[1..]).unwrap();
    let too_much = prepare.absorb(Artifact::Hint, &[0, 0]);
    assert!(matches!(too_much, Err(Error::Misuse(Misuse::UnexpectedArtifact(_)))));
    let (got, need) = (3 * 4096 - 1, 3 * 4096);
    let result = prepare.finish().map(drop);
    assert!(
        matches!(result, Err(Error::Misuse(Misuse::NotPrepared { got: g, need: n, .. })) if (g, n) == (got, need))
    );
}

#[test]
fn hints_in_odd_pieces_are_whole() {
    let table = small();
    for size in [1, 2, 3, 5, 4095] {
        let mut prepare = Prepare::begin(&table.params, &mut seeded("begin")).unwrap();
        table.hint().chunks(size).for_each(|piece| prepare.absorb(Artifact::Hint, piece).unwrap());
        let (_, _, record) = table.lookup(&mut prepare.finish().unwrap(), 4, "odd");
        assert_eq!(record, table.record(4), "{size}");
    }
}

#[test]
fn images_that_lack_something() {
    let table = small();
    for section in [Section::Resident, crate::setup::HINT] {
        for image in [table.image.without(section), table.image.with(section, &[0; 64])] {
            let result = Server::open(&table.params, Arc::new(image)).map(drop);
            assert!(matches!(result, Err(Error::Peer(PeerMisbehaved::Length { .. }))), "{result:?}");
        }
    }
}

#[test]
fn an_index_past_the_end() {
    let table = small();
    for index in [5, 6, u64::from(u32::MAX) + 1, u64::MAX] {
        let result = table.client().query(RecordIndex(index), &mut seeded("past"));
        assert!(matches!(result, Err(Error::Misuse(Misuse::IndexPastEnd { len: 5, .. }))), "{index}");
    }
}

#[test]
fn answers_of_another_table() {
    let table = small();
    let mut client = table.client();
    let (_, pending) = client.query(RecordIndex(0), &mut seeded("other")).unwrap();
    let other = Params::check(literal(4, 5, 27, 11)).unwrap();
    let answer = Answer::take(&other, &[0; 6]).unwrap();
    let result =
        <_ as sotto_core::Client<SimplePir>>::recover(&mut client, pending, OneServer(answer)).map(drop);
    assert!(matches!(result, Err(Error::Misuse(Misuse::ForeignValue(_)))));
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
        prop_assert_eq!(record, table.record(index));
    }

    #[test]
    fn any_bytes_are_taken_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let params = Params::check(literal(3, 5, 27, 11)).unwrap();
        for result in [
            Query::take(&params, &bytes).map(drop),
            Answer::take(&params, &bytes).map(drop),
            sotto_simplepir::delta::Delta::take(&params, &bytes).map(drop),
        ] {
            prop_assert!(matches!(result, Ok(()) | Err(Error::Peer(_))));
        }
    }
}

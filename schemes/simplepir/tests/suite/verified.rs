//! Answers of `verisimplepir/1`: exact, and refused whenever they are not.

use crate::setup::sent;
use proptest::prelude::*;
use sotto_core::{
    Artifact, Client as _, Error, OneServer, PeerMisbehaved, Prepare as _, RecordChange, RecordIndex,
    Server as _, UpdateImage, Wire,
};
use sotto_silent::MatrixScheme;
use sotto_silent::client::{Client, Pending, Prepare};
use sotto_silent::lwe::ring::{PUBLIC_SEED, Q};
use sotto_silent::message::{Answer, Query};
use sotto_silent::server::Server;
use sotto_simplepir::literal::SET;
use sotto_simplepir::verisimplepir::literal::ParamsLiteral;
use sotto_simplepir::verisimplepir::{VERIFIED, VeriSimplePir};
use sotto_testkit::memory::MemorySink;
use sotto_testkit::rng::seeded;
use sotto_testkit::served::{InProcessServer, is_not_canonical, refuses};
use sotto_testkit::vectors::known_answers;
use std::sync::Arc;

fn literal(record_bytes: u64, records: u64) -> ParamsLiteral {
    ParamsLiteral { set: SET.into(), record_bytes, records, seed: PUBLIC_SEED }
}

/// Bytes that look random.
fn mixed(i: u64) -> u64 {
    let x = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20
}

type Scheme = MatrixScheme<VeriSimplePir>;

struct Table(InProcessServer<Scheme>);

impl std::ops::Deref for Table {
    type Target = InProcessServer<Scheme>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Table {
    fn new(l: u64, m: u64, byte: impl Fn(u64) -> u8) -> Self {
        Table(InProcessServer::checked(literal(l, m), (0..l * m).map(byte).collect()))
    }

    fn random(l: u64, m: u64) -> Self {
        Table::new(l, m, |i| mixed(i) as u8)
    }

    /// The server of the same table with one byte changed.
    fn changed(&self, row: u64, column: u64) -> Server<VeriSimplePir> {
        let sink = MemorySink::holding(self.image.clone());
        let bytes = vec![self.row(column)[row as usize] ^ 0x40];
        Scheme::update_image(&self.params, &[RecordChange { record: column, offset: row, bytes }], &sink)
            .unwrap();
        Server::open(&self.params, Arc::new(sink.into_image())).unwrap()
    }

    fn client(&self, chunk: usize) -> Client<VeriSimplePir> {
        let mut prepare = Prepare::begin(&self.params, &mut seeded("prepare")).unwrap();
        for piece in self.image.artifact(Artifact::Rows).unwrap().chunks(chunk) {
            prepare.absorb(Artifact::Rows, piece).unwrap();
        }
        prepare.finish().unwrap()
    }

    fn query(&self, words: &[u32]) -> Query {
        Query::take(&self.params, &bytes(words)).unwrap()
    }

    fn answer(&self, words: &[u32]) -> Answer {
        Answer::take(&self.params, &bytes(words)).unwrap()
    }

    fn words(&self, answer: &Answer) -> Vec<u32> {
        let bytes = sent::<Scheme>(&self.params, answer);
        bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    }

    fn naive(&self, c: &[u32]) -> Vec<u32> {
        let l = self.params.record_bytes as usize;
        let mut sums = vec![0i128; l];
        for (column, c) in self.rows.chunks(l).zip(c) {
            for (sum, byte) in sums.iter_mut().zip(column) {
                *sum += i128::from(*byte as i8) * i128::from(*c);
            }
        }
        sums.iter().map(|sum| sum.rem_euclid(Q.into()) as u32).collect()
    }
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn make_query(
    client: &mut Client<VeriSimplePir>,
    index: u64,
    label: &str,
) -> (Query, Pending<VeriSimplePir>) {
    let (OneServer(query), pending) = client.query(RecordIndex(index), &mut seeded(label)).unwrap();
    (query, pending)
}

fn is_refused(client: &mut Client<VeriSimplePir>, pending: Pending<VeriSimplePir>, answer: Answer) -> bool {
    match client.recover(pending, OneServer(answer)) {
        Ok(_) => false,
        Err(Error::Unreadable) => true,
        Err(error) => panic!("{error:?}"),
    }
}

#[test]
fn answers_are_the_exact_product() {
    // More than 2^15 columns, so that the scan moves its sums; several panels, the last one not whole.
    for (l, m) in [(1, 1), (3, 70_001), (130, 517), (64, 4096)] {
        let fills: [&dyn Fn(u64) -> u8; 4] =
            [&|i| mixed(i) as u8, &|_| 0x80, &|_| 0x7f, &|i| [0x80, 0x7f][i as usize % 2]];
        for fill in fills {
            let table = Table::new(l, m, fill);
            let words: [&dyn Fn(u64) -> u32; 5] =
                [&|i| (mixed(i * 3) % u64::from(Q)) as u32, &|_| Q - 1, &|_| 0, &|_| 0xff, &|i| {
                    [Q - 1, 0x00ff_ffff][i as usize % 2]
                }];
            for word in words {
                let c: Vec<u32> = (0..m).map(word).collect();
                let answer = table.server.answer(&(), table.query(&c)).unwrap();
                assert!(table.words(&answer) == table.naive(&c), "{l} x {m}");
            }
        }
    }
}

/// Ways to answer wrongly, each made of the right words and none of them by chance the same.
fn wrong_answers(right: &[u32]) -> Vec<Vec<u32>> {
    let plus = |at: usize, what: u32| {
        let mut words = right.to_vec();
        words[at] = ((u64::from(words[at]) + u64::from(what)) % u64::from(Q)) as u32;
        words
    };
    let mut wrong: Vec<Vec<u32>> = (0..right.len())
        .flat_map(|at| [1, Q - 1, Q / 2, Q / 256, 1 << 16, 256].map(|what| plus(at, what)))
        .collect();
    for at in 1..right.len() {
        let mut words = right.to_vec();
        words.swap(0, at);
        wrong.push(words);
    }
    wrong.push(vec![0; right.len()]);
    wrong.push(vec![Q - 1; right.len()]);
    wrong.push(right.iter().rev().copied().collect());
    wrong.push(right.iter().map(|word| (Q - word) % Q).collect());
    // All words off by the same: what four equal equations would be blind to for some C.
    wrong.push(right.iter().map(|word| (word + 1) % Q).collect());
    wrong.retain(|words| words != right);
    wrong
}

#[test]
fn any_change_of_an_answer_is_refused_whatever_was_asked() {
    let table = Table::random(70, 37);
    let mut client = table.client(usize::MAX);
    for index in [0, 1, 17, 36] {
        let label = format!("change {index}");
        let (query, pending) = make_query(&mut client, index, &label);
        let right = table.words(&table.server.answer(&(), query).unwrap());
        let wrong = wrong_answers(&right);
        assert!(wrong.len() > 480);
        for words in wrong {
            let (_, pending) = make_query(&mut client, index, &label);
            assert!(is_refused(&mut client, pending, table.answer(&words)), "{index}");
        }
        // The right answer to another query, of the same record too.
        for (other, label) in [(index, "again"), ((index + 1) % 37, "next")] {
            let (query, _) = make_query(&mut client, other, label);
            let (_, pending) = make_query(&mut client, index, &format!("change {index}"));
            assert!(is_refused(&mut client, pending, table.server.answer(&(), query).unwrap()));
        }
        assert!(!is_refused(&mut client, pending, table.answer(&right)));
    }
}

/// The attack that a client without this check falls to: change one record, and see whether the client minds.
#[test]
fn a_table_with_one_byte_changed_is_refused_whatever_was_asked() {
    let table = Table::random(70, 37);
    let mut client = table.client(usize::MAX);
    for column in 0..37 {
        let other = table.changed(column * 31 % 70, column);
        for index in [column, (column + 1) % 37, 0, 36] {
            let (query, pending) = make_query(&mut client, index, "changed");
            let right = table.server.answer(&(), query.clone()).unwrap();
            assert!(is_refused(&mut client, pending, other.answer(&(), query).unwrap()), "{column} {index}");
            let (_, pending) = make_query(&mut client, index, "changed");
            assert_eq!(client.recover(pending, OneServer(right)).unwrap().bytes(), table.row(index));
        }
    }
}

#[test]
fn a_change_that_rounding_would_hide_is_refused() {
    // A word that is off by one reads as the same byte: a client that looked at what it read would accept it.
    let table = Table::random(3, 5);
    let mut client = table.client(7);
    let (query, pending) = make_query(&mut client, 2, "hidden");
    let mut words = table.words(&table.server.answer(&(), query).unwrap());
    words[1] = (words[1] + 1) % Q;
    assert!(is_refused(&mut client, pending, table.answer(&words)));
}

#[test]
fn chunks_of_any_size_make_the_same_client() {
    let table = Table::random(67, 41);
    let transcript = |chunk: usize| {
        let mut client = table.client(chunk);
        let (query, pending) = make_query(&mut client, 40, "chunks");
        let answer = table.server.answer(&(), query.clone()).unwrap();
        (query, client.recover(pending, OneServer(answer)).unwrap().bytes().to_vec())
    };
    let whole = transcript(usize::MAX);
    assert_eq!(whole.1, table.row(40));
    for chunk in [1, 255, 257, 5000] {
        assert!(transcript(chunk) == whole, "{chunk}");
    }
}

#[test]
fn padding_that_is_not_zero_is_refused() {
    let table = Table::random(66, 5);
    let good = table.image.artifact(Artifact::Rows).unwrap();
    let layout = table.params.layout();
    let mut refused = 0;
    for row in 0..layout.padded_rows() {
        for column in 0..layout.padded_cols() {
            if row < layout.rows() && column < layout.cols() {
                continue;
            }
            let mut bad = good.to_vec();
            bad[layout.offset(row, column)] = 1;
            let mut prepare = Prepare::begin(&table.params, &mut seeded("padding")).unwrap();
            let result = prepare.absorb(Artifact::Rows, &bad);
            assert!(
                matches!(result, Err(Error::Peer(PeerMisbehaved::NotCanonical("rows")))),
                "{row} {column}"
            );
            refused += 1;
        }
    }
    assert_eq!(refused, good.len() - 66 * 5);
}

#[test]
fn words_at_the_modulus_are_refused() {
    let table = Table::random(3, 5);
    for word in [Q, u32::MAX] {
        assert!(is_not_canonical::<Query, _>(&table.params, &bytes(&[0, 1, word, 2, 3])));
        assert!(is_not_canonical::<Answer, _>(&table.params, &bytes(&[0, 1, word])));
    }
}

#[test]
fn literals_that_promise_too_much_are_refused() {
    let (l, m) = (sotto_simplepir::literal::MAX_RECORD_BYTES, sotto_simplepir::literal::MAX_RECORDS);
    let fields = [
        ("record_bytes", literal(0, 1)),
        ("record_bytes", literal(l + 1, 1)),
        ("record_bytes", literal(u64::MAX, 1)),
        ("records", literal(1, 0)),
        ("records", literal(1, m + 1)),
        ("records", literal(1, u64::MAX)),
        ("set", ParamsLiteral { set: "n512".into(), ..literal(1, 1) }),
        ("seed", ParamsLiteral { seed: sotto_prg::PublicSeed([7; 32]), ..literal(1, 1) }),
    ];
    refuses::<Scheme>(literal(1, 1), [literal(l, m)], fields);
}

#[test]
fn known_answers_of_verified_lookups() {
    known_answers(&VERIFIED, include_str!("../../vectors/verisimplepir-1.json"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_shape_is_looked_up_and_any_difference_refused(
        l in 1u64..200, m in 1u64..2200, index: u64, fill: u64, at: usize, off in 1..Q,
    ) {
        let table = Table::new(l, m, |i| (fill.wrapping_mul(i) >> 7) as u8);
        let index = index % m;
        let mut client = table.client(10_000);
        let (query, pending) = make_query(&mut client, index, "any");
        let answer = table.server.answer(&(), query).unwrap();
        let mut words = table.words(&answer);
        let record = client.recover(pending, OneServer(answer)).unwrap();
        prop_assert_eq!(record.bytes(), table.row(index));
        let at = at % words.len();
        words[at] = ((u64::from(words[at]) + u64::from(off)) % u64::from(Q)) as u32;
        let (_, pending) = make_query(&mut client, index, "any");
        prop_assert!(is_refused(&mut client, pending, table.answer(&words)));
    }
}

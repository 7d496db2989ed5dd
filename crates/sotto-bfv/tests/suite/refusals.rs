//! Refusals of malformed messages and of invalid parameters.

use crate::SCHEMES;
use serde_json::{Value, json};
use sotto_core::{Error, ParamsError, PeerMisbehaved, RecordIndex, SchemeEntry, TableShape};
use sotto_testkit::conformance::subject::{Case, Fill, Table};
use sotto_testkit::rng::seeded;

const SMALL: Case = Case { rows: 40, row_bytes: 8, fill: Fill::Random };

fn tables() -> impl Iterator<Item = Table> {
    SCHEMES.iter().map(|entry| Table::encode_buckets(entry, SMALL, 3))
}

/// The field for which a literal is refused.
fn field(entry: &SchemeEntry, literal: &Value) -> &'static str {
    match (entry.report)(literal.to_string().as_bytes()) {
        Err(Error::Params(ParamsError::Field { field, .. })) => field,
        Err(other) => panic!("{}: {literal}: {other}", entry.id),
        Ok(_) => panic!("{}: {literal} was taken", entry.id),
    }
}

#[test]
fn fields_out_of_range_are_named() {
    for entry in SCHEMES {
        let shape = TableShape { buckets: 3, ..TableShape::new(3 * 300, 30, 1000) };
        let literal: Value = serde_json::from_slice(&(entry.select)(&shape).unwrap()).unwrap();
        let refused = |name: &str, value: Value| {
            let mut literal = literal.clone();
            literal[name] = value;
            field(entry, &literal)
        };
        for other in ["n8192-t65537-q101", "n4096-t2^14-q50", "n4096-t65537-q50", "n8192-t65537-q100"] {
            let of_mine = (entry.sets)().iter().any(|set| {
                let shape = TableShape { set: Some(set.name.into()), ..TableShape::new(9, 30, 1000) };
                let selected: Value = serde_json::from_slice(&(entry.select)(&shape).unwrap()).unwrap();
                selected["ring"] == other
            });
            assert!(of_mine || refused("ring", json!(other)) == "ring", "{}: {other}", entry.id);
        }
        assert_eq!(refused("buckets", json!(0)), "buckets");
        assert_eq!(refused("split", json!(0)), "split");
        // Slots have no room for its lanes.
        let wide = if entry.id.0 == "sealpir/1" { "split" } else { "buckets" };
        assert_eq!(refused("split", json!(u32::MAX)), wide);
        assert_eq!(refused("records", json!(0)), "records");
        assert_eq!(refused("records", json!(u64::MAX)), "records");
        assert_eq!(refused("records", json!(literal["records"].as_u64().unwrap() + 1)), "records");
        assert_eq!(refused("record_words", json!((1 << 20) + 1)), "record_words");
        assert_eq!(refused("rows", json!(0)), "rows");
        assert_eq!(refused("rows", json!(u32::MAX)), "rows");
        assert_eq!(refused("merged", json!(0)), "merged");
        assert_eq!(refused("merged", json!(u32::MAX)), "merged");
        assert_eq!(refused("primes", json!(0)), "primes");
        assert_eq!(refused("primes", json!(3)), "primes");
        assert_eq!(refused("queries", json!(0)), "queries");
        assert_eq!(refused("queries", json!(u32::MAX)), "queries");
        assert_eq!(refused("queries", json!(4096)), "queries");
        assert_eq!(refused("stride", json!(0)), "stride");
        assert_eq!(refused("stride", json!(u32::MAX)), "stride");
        assert_eq!(refused("answer_bits", json!([0, 26])), "answer_bits");
        assert_eq!(refused("answer_bits", json!([27, 26])), "answer_bits");
        assert_eq!(refused("answer_bits", json!([27, 255])), "answer_bits");
        assert_eq!(refused("written", json!(u32::MAX)), "written");
    }
}

#[test]
fn what_is_not_reliable_is_refused() {
    for entry in SCHEMES {
        let shape = TableShape::new(900, 30, 1000);
        let literal: Value = serde_json::from_slice(&(entry.select)(&shape).unwrap()).unwrap();
        let [body, mask] = [0, 1].map(|i| literal["answer_bits"][i].as_u64().unwrap());
        for bits in [[body - 2, mask], [body, mask - 2]] {
            let mut short = literal.clone();
            short["answer_bits"] = json!(bits);
            let refused = (entry.report)(short.to_string().as_bytes());
            assert!(
                matches!(refused, Err(Error::Params(ParamsError::Unreliable { .. }))),
                "{}: {short}: {refused:?}",
                entry.id
            );
        }
    }
}

/// Five selectors in four ciphertexts are two in each of three: such a query has another size than
/// the literal says.
#[test]
fn queries_that_would_be_empty_are_refused() {
    let literal = |queries: u32| {
        json!({
            "ring": "n4096-t2^12-q50", "records": 5, "buckets": 1, "record_words": 4096, "split": 1, "rows": 5, "merged": 1,
            "primes": 1, "queries": queries, "answer_bits": [15, 21], "written": 0, "mask": "5c".repeat(32),
        })
    };
    let taken = |queries: u32| (sealpir::ENTRY.report)(literal(queries).to_string().as_bytes()).is_ok();
    assert_eq!([1, 2, 3, 4, 5, 6].map(taken), [true, true, true, false, true, false]);
    assert_eq!(field(&sealpir::ENTRY, &literal(4)), "queries");
}

/// A word that is not below its prime, in keys and in queries; messages of another length.
#[test]
fn messages_that_are_none_are_the_peers_fault() {
    for table in tables() {
        let rng = &mut seeded("messages");
        let mut client = table.client(rng);
        let session = table.session(client.as_ref());
        let (keys, query) = (client.keys(), client.query(RecordIndex(2), rng).unwrap().0.remove(0));
        let spoilt = |bytes: &[u8], at: usize| {
            let mut bytes = bytes.to_vec();
            bytes[at..at + 16].fill(0xff);
            bytes
        };
        for at in [32, keys.len() / 2, keys.len() - 16] {
            let refused = table.server.admit(&spoilt(&keys, at)).map(|_| ());
            assert!(matches!(refused, Err(Error::Peer(PeerMisbehaved::NotCanonical("keys")))), "{refused:?}");
        }
        for at in [32, query.len() / 2, query.len() - 16] {
            let refused = table.server.answer_many(&[(&session, spoilt(&query, at).as_slice())]).remove(0);
            assert!(
                matches!(refused, Err(Error::Peer(PeerMisbehaved::NotCanonical("query")))),
                "{refused:?}"
            );
        }
        for len in [0, 31, 32, 33, keys.len() / 2, keys.len() - 1] {
            let refused = table.server.admit(&keys[..len]).map(|_| ());
            assert!(matches!(refused, Err(Error::Peer(PeerMisbehaved::Length { .. }))), "{refused:?}");
        }
        assert!(table.server.admit(&[keys, vec![0]].concat()).is_err());
    }
}

/// Keys of another ring, or for another method, have another length.
#[test]
fn keys_of_other_schemes_are_refused() {
    let tables: Vec<Table> = tables().collect();
    let mut refusals = 0;
    for (mine, other) in tables.iter().flat_map(|mine| tables.iter().map(move |other| (mine, other))) {
        let keys = other.client(&mut seeded("others")).keys();
        let admitted = mine.server.admit(&keys).map(|_| ());
        if mine.report.costs.keys_bytes == other.report.costs.keys_bytes {
            admitted.unwrap();
            continue;
        }
        assert!(matches!(admitted, Err(Error::Peer(PeerMisbehaved::Length { .. }))), "{admitted:?}");
        refusals += 1;
    }
    // The keys of VBPIR and of PIRANA are the same.
    assert_eq!(refusals, 4 * 4 - 6);
}

/// Answers under the keys of another client decrypt to something else, and harm nobody.
#[test]
fn keys_of_another_client_read_nothing() {
    for table in tables() {
        let rng = &mut seeded("another client");
        let (mut client, other) = (table.client(rng), table.client(rng));
        let session = table.session(other.as_ref());
        let (queries, pending) = client.query(RecordIndex(1), rng).unwrap();
        let answers = table.answer(&session, &queries).unwrap();
        // Where the table has a single row and column, no key is used.
        let read = client.recover(pending, &answers).unwrap();
        assert_eq!(read.bytes().len() as u64, table.report.record_bytes);
        let keyed = table.entry.id.0 != "fastpir/1";
        assert!(!keyed || read.bytes() != table.record(1), "{}", table.entry.id);
    }
}

/// One pass with a query that is refused, and with one under another client's keys.
#[test]
fn others_are_unharmed() {
    for table in tables() {
        let rng = &mut seeded("unharmed");
        let (mut one, mut two) = (table.client(rng), table.client(rng));
        let sessions = [table.session(one.as_ref()), table.session(two.as_ref())];
        let last = table.report.records - 1;
        let (mut first, first_ticket) = one.query(RecordIndex(2), rng).unwrap();
        let (mut second, second_ticket) = two.query(RecordIndex(last), rng).unwrap();
        let (first, second) = (first.remove(0), second.remove(0));
        let spoilt = vec![0xff; first.len()];
        let queries: [(_, &[u8]); 5] = [
            (&sessions[0], &first),
            (&sessions[0], &spoilt),
            (&sessions[0], &second),
            (&sessions[1], &first[1..]),
            (&sessions[1], &second),
        ];
        let mut answers = table.server.answer_many(&queries);
        assert!(answers[1].is_err() && answers[2].is_ok() && answers[3].is_err());
        let second = two.recover(second_ticket, &[answers.remove(4).unwrap()]).unwrap();
        let first = one.recover(first_ticket, &[answers.remove(0).unwrap()]).unwrap();
        assert!(
            first.bytes() == table.record(2) && second.bytes() == table.record(last),
            "{}",
            table.entry.id
        );
    }
}

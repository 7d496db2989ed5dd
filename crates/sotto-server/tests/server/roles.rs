//! A server has one role: it answers frames for that role, reports it, and does not start with an
//! impossible one.

use crate::harness::*;
use sotto_core::{ParamsDigest, SchemeEntry};
use sotto_server::{ServerConfig, SourceError, TableEpoch};
use sotto_testkit::{CLEAR, CLEAR_TWO};
use sotto_wire::{Code, FrameHeader, SessionId, answer, query, routes};

fn made(scheme: &'static SchemeEntry, role: u8) -> EncodedTable {
    EncodedTable { scheme, role, ..EncodedTable::clear(1, &Probe::new()) }
}

/// A query of the scheme with two shares, for the sum of these records.
fn share(records: &[u64]) -> Vec<u8> {
    let mut bits = vec![0; RECORDS.div_ceil(8) as usize];
    records.iter().for_each(|record| bits[(record / 8) as usize] ^= 1 << (record % 8));
    bits
}

#[test]
fn each_server_answers_what_is_for_its_role_and_nothing_else() {
    for role in [0, 1] {
        let made = made(&CLEAR_TWO, role);
        let running = start(&config(), &TestSource::with(made.clone()));
        let query = |pin: &FrameHeader| {
            let frame = query::encode(pin, &SessionId::NONE, &[share(&[3])]).unwrap();
            post(running.public, &routes::query("t"), &frame)
        };
        let response = query(&made.pin());
        assert_eq!(response.status, 200, "{}", response.text());
        assert_eq!(answer::decode(&response.body, &made.pin(), 1, RECORD).unwrap(), [record(3, 1)]);
        for server in [1 - role, 2, 255] {
            assert_refused(&query(&FrameHeader { server, ..made.pin() }), Code::WrongServer);
        }
        assert_eq!(made.probe.batches(), [1]);
    }
}

#[test]
fn a_server_says_which_it_is() {
    let shelves = |role| -> Vec<Box<dyn sotto_server::EpochSource>> {
        let single = EncodedTable { name: "single", ..made(&CLEAR, 0) };
        vec![Box::new(TestSource::with(made(&CLEAR_TWO, role))), Box::new(TestSource::with(single))]
    };
    for role in [0, 1] {
        let running = sotto_server::Server::start_with(&config(), shelves(role)).unwrap();
        let response = get(running.public, routes::TABLES);
        let list: routes::TableList = serde_json::from_slice(&response.body).unwrap();
        assert_eq!(list.tables, ["single", "t"]);
        assert_eq!(list.roles.into_iter().collect::<Vec<_>>(), [("t".to_owned(), role)]);
        let metrics = get(running.admin, "/metrics").text();
        assert!(metrics.contains(&format!("sotto_server_role{{table=\"t\"}} {role}\n")), "{metrics}");
    }
    // The list of tables does not mention roles for tables with one server.
    let running = start(&config(), &TestSource::with(made(&CLEAR, 0)));
    assert_eq!(get(running.public, routes::TABLES).text(), r#"{"tables":["t"]}"#);
}

#[test]
fn a_role_the_scheme_does_not_have_is_refused() {
    for (scheme, role) in [(&CLEAR, 1), (&CLEAR_TWO, 2), (&CLEAR_TWO, 255)] {
        let error = TableEpoch::new(made(scheme, role).parts(), role).unwrap_err();
        assert!(matches!(error, SourceError::Role { .. }));
        let said = error.to_string();
        assert!(said.contains(scheme.id.0) && said.contains(&format!("`role` is {role}")), "{said}");
    }
}

#[test]
fn the_role_of_a_table_outweighs_that_of_the_server() {
    let text = "role = 1\ntables = [{ dir = \"two\" }, { dir = \"one\", role = 0 }]";
    let config = ServerConfig::parse(text).unwrap();
    assert_eq!((config.role, config.tables[0].role, config.tables[1].role), (1, None, Some(0)));
    assert!(ServerConfig::parse("role = 256\ntables = []").is_err());
}

#[test]
fn a_frame_is_judged_by_its_role_before_anything_is_read() {
    let made = made(&CLEAR_TWO, 1);
    let running = start(&config(), &TestSource::with(made.clone()));
    // A frame for the first server, of other parameters, without a payload: the role is checked
    // first.
    let pin = FrameHeader { server: 0, digest: ParamsDigest([0; 32]), ..made.pin() };
    let frame = query::encode(&pin, &SessionId::NONE, &[[0u8; 1]]).unwrap();
    assert_refused(&post(running.public, &routes::query("t"), &frame), Code::WrongServer);
}

//! Queries are answered, and bad ones are refused with the right code; a server has one role: it
//! answers frames for that role, reports it, and does not start with an impossible one.

use crate::harness::http::{connect, head, post_chunked};
use crate::harness::*;
use sotto_core::{Epoch, ParamsDigest, SchemeEntry};
use sotto_server::{ServerConfig, SourceError, TableEpoch};
use sotto_testkit::{CLEAR, CLEAR_TWO};
use sotto_wire::{FrameHeader, ProblemCode, SessionId, Timing, answer, query, routes};
use std::io::Write;

#[test]
fn a_question_is_answered() {
    let world = world(&config());
    let response = world.query(&[7]);
    assert_answers(&response, &world.pin, &[7]);
    assert_eq!(response.header("content-type"), Some(routes::OCTETS));
    assert_eq!(response.header("cache-control"), Some("no-store"));
    assert!(Timing::parse(response.header("server-timing").unwrap()).is_some());
}

#[test]
fn many_questions_in_one_ask_are_answered_in_order() {
    let world = world(&config());
    let records: Vec<u64> = (0..64).map(|i| i * 7 % RECORDS).collect();
    assert_answers(&world.query(&records), &world.pin, &records);
    // The first pass takes eight queries; the times of passes decide how many the others take.
    let batches = world.probe.batches();
    assert!(batches.first() == Some(&8) && batches.iter().all(|size| *size <= 32), "{batches:?}");
}

#[test]
fn every_answer_has_one_size() {
    let world = world(&config());
    let size = |index| {
        let response = world.query(&[index]);
        let headers: usize = response.headers.iter().map(|(key, value)| key.len() + value.len()).sum();
        (response.status, headers, response.body.len())
    };
    let first = size(0);
    for index in 1..RECORDS {
        assert_eq!(size(index), first);
    }
}

#[test]
fn a_chunked_body_is_as_good() {
    let world = world(&config());
    let frame = world.frame(&[3, 4]);
    for chunk in [1, 7, 64, 1000] {
        let response = post_chunked(world.at, &routes::query("t"), &frame, chunk);
        assert_answers(&response, &world.pin, &[3, 4]);
    }
}

#[test]
fn a_frame_cut_anywhere_is_malformed() {
    let world = world(&config());
    let frame = world.frame(&[1]);
    for len in 0..frame.len() {
        assert_refused(&post(world.at, &routes::query("t"), &frame[..len]), ProblemCode::Malformed);
    }
    let longer = [&frame[..], b"x"].concat();
    assert_refused(&post(world.at, &routes::query("t"), &longer), ProblemCode::Malformed);
    assert_refused(&post_chunked(world.at, &routes::query("t"), &longer, 10), ProblemCode::Malformed);
    assert_answers(&world.query(&[1]), &world.pin, &[1]);
}

#[test]
fn a_flipped_bit_in_the_head_is_refused_by_what_it_breaks() {
    let world = world(&config());
    let frame = world.frame(&[1]);
    for bit in 0..query::HEAD_BYTES * 8 {
        let mut frame = frame.clone();
        frame[bit / 8] ^= 1 << (bit % 8);
        let code = match bit / 8 {
            0..4 => ProblemCode::Malformed,
            4 => ProblemCode::WrongVersion,
            5 => ProblemCode::WrongServer,
            // The count of one query is changed to none, more than follow, or more than are
            // allowed.
            6 if bit % 8 >= 6 => ProblemCode::TooLarge,
            6 => ProblemCode::Malformed,
            7 => ProblemCode::TooLarge,
            8 if bit == 8 * 8 => ProblemCode::StaleEpoch,
            8..16 => ProblemCode::EpochAhead,
            16..48 => ProblemCode::WrongParams,
            _ => ProblemCode::SessionExpired,
        };
        let response = post(world.at, &routes::query("t"), &frame);
        assert_refused(&response, code);
    }
    assert_eq!(world.probe.batches(), [0; 0], "none of them cost a pass");
    assert_answers(&world.query(&[1]), &world.pin, &[1]);
}

#[test]
fn a_query_the_scheme_refuses_costs_only_its_own_ask() {
    let world = world(&config());
    world.probe.hold();
    let first = world.query_later(&[0]);
    world.until("sotto_passes_total", 1.0);
    let bad = world.query_later(&[RECORDS]);
    let good = world.query_later(&[2]);
    world.until("sotto_queue_depth", 2.0);
    world.probe.release();
    assert_answers(&first.join().unwrap(), &world.pin, &[0]);
    assert_refused(&bad.join().unwrap(), ProblemCode::BadQuery);
    assert_answers(&good.join().unwrap(), &world.pin, &[2]);
    assert_eq!(world.probe.batches(), [1, 2]);
}

#[test]
fn a_problem_names_the_newest_epoch() {
    let world = world(&config());
    let mut pin = world.pin;
    pin.epoch = Epoch(9);
    let response = post(world.at, &routes::query("t"), &frame(&pin, SessionId::NONE, &[1]));
    let problem = sotto_wire::Problem::read(response.status, &response.body);
    assert_eq!((problem.code, problem.epoch), (ProblemCode::EpochAhead, Some(Epoch(1))));
}

#[test]
fn frames_of_another_scheme_are_refused() {
    let world = world(&config());
    let mut pin = world.pin;
    pin.digest = ParamsDigest([0; 32]);
    assert_refused(
        &post(world.at, &routes::query("t"), &frame(&pin, SessionId::NONE, &[1])),
        ProblemCode::WrongParams,
    );
}

#[test]
fn a_body_that_announces_too_much_is_refused_unread() {
    let world = world(&config());
    let mut stream = connect(world.at);
    // The answer arrives although not a byte of the body is sent.
    let head = head("POST", &routes::query("t"), &[("content-length", "100000000000")]);
    stream.write_all(head.as_bytes()).unwrap();
    assert_refused(&Response::read(&mut stream), ProblemCode::TooLarge);
    assert_answers(&world.query(&[1]), &world.pin, &[1]);
}

#[test]
fn a_chunked_body_is_cut_off_at_the_limit() {
    let world = world(&config());
    // A head that announces more queries than the limit allows, and an endless body.
    let mut body = world.frame(&[1; 64]);
    body.extend(vec![0; 1 << 16]);
    let response = post_chunked(world.at, &routes::query("t"), &body, 4096);
    assert!(
        [ProblemCode::TooLarge, ProblemCode::Malformed].map(ProblemCode::status).contains(&response.status)
    );
    assert_answers(&world.query(&[1]), &world.pin, &[1]);
}

#[test]
fn more_queries_than_allowed_are_too_large() {
    let world = world(&config());
    let many = world.frame(&[1; 65]);
    assert_refused(&post(world.at, &routes::query("t"), &many), ProblemCode::TooLarge);
    // The count alone is wrong, and the body would otherwise be accepted.
    let mut lying = world.frame(&[1]);
    lying[6..8].copy_from_slice(&65u16.to_le_bytes());
    assert_refused(&post(world.at, &routes::query("t"), &lying), ProblemCode::TooLarge);
}

#[test]
fn wrong_paths_and_methods_are_named() {
    let world = world(&config());
    assert_refused(&post(world.at, &routes::query("other"), &world.frame(&[1])), ProblemCode::NoSuchTable);
    assert_refused(&get(world.at, "/v1/nothing"), ProblemCode::NoSuchRoute);
    assert_refused(&get(world.at, &routes::query("t")), ProblemCode::WrongMethod);
    assert_refused(&post(world.at, routes::TABLES, b""), ProblemCode::WrongMethod);
    assert_refused(&get(world.at, "/v1/tables/t/rows?row=1"), ProblemCode::NoSuchRoute);
    // Table names are not paths.
    for name in ["..%2f..%2fetc", "%00", "T", "t%20"] {
        assert_refused(&get(world.at, &routes::table(name, None)), ProblemCode::NoSuchTable);
    }
}

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
            assert_refused(&query(&FrameHeader { server, ..made.pin() }), ProblemCode::WrongServer);
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
    assert_refused(&post(running.public, &routes::query("t"), &frame), ProblemCode::WrongServer);
}

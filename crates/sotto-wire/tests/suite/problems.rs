//! Refusals are decoded as they were encoded, and bodies of others get a sensible code.

use proptest::prelude::*;
use sotto_core::{Costs, Diagnose, Epoch, ErrorKind, Exit};
use sotto_wire::{MessageSizes, Problem, ProblemCode, Timing, routes};
use std::time::Duration;

#[test]
fn every_code_round_trips_and_is_unique() {
    for &code in ProblemCode::ALL {
        assert_eq!(ProblemCode::from_text(code.text()), Some(code));
        let problem = Problem::new(code, "what happened").with_epoch(Epoch(3));
        assert_eq!(Problem::read(code.status(), &problem.to_bytes()), problem);
        assert!((400..600).contains(&code.status()) && !code.fix().is_empty());
    }
}

#[test]
fn the_spec_lists_every_code_with_its_status() {
    let spec = include_str!("../../../../spec/wire.md");
    for code in ProblemCode::ALL {
        let row = format!("| {} | `{}` |", code.status(), code.text());
        assert!(spec.contains(&row), "spec/wire.md lacks a row `{row}`");
    }
    for route in
        [routes::TABLES, routes::TABLE, routes::KEYS, routes::QUERY, routes::STREAM, routes::ARTIFACT]
    {
        assert!(spec.contains(route), "spec/wire.md lacks {route}");
    }
}

#[test]
fn a_foreign_body_takes_its_meaning_from_the_status() {
    let meanings = [
        (404, ProblemCode::NoSuchRoute),
        (405, ProblemCode::WrongMethod),
        (408, ProblemCode::TooSlow),
        (409, ProblemCode::StaleEpoch),
        (410, ProblemCode::EpochExpired),
        (413, ProblemCode::TooLarge),
        (416, ProblemCode::BadRange),
        (418, ProblemCode::Malformed),
        (429, ProblemCode::Busy),
        (500, ProblemCode::Internal),
        (501, ProblemCode::Internal),
        (502, ProblemCode::NotReady),
        (504, ProblemCode::NotReady),
        (505, ProblemCode::Internal),
    ];
    for (status, code) in meanings {
        assert_eq!(Problem::read(status, b"<html>bad gateway</html>").code, code, "{status}");
    }
    assert_eq!(
        Problem::read(409, br#"{"code":"made-up-tomorrow","message":"m"}"#).code,
        ProblemCode::StaleEpoch
    );
    let huge = format!(r#"{{"code":"busy","message":"{}"}}"#, "x".repeat(5000));
    assert!(Problem::read(429, huge.as_bytes()).message.contains("no readable reason"));
}

/// Programs take the kind of error and the exit code from it, and people the line.
#[test]
fn a_refusal_says_what_it_means_for_a_program() {
    let judged = |code| {
        let problem = Problem::new(code, "m");
        let diagnosis = problem.diagnosis();
        (diagnosis.kind, diagnosis.exit)
    };
    assert_eq!(judged(ProblemCode::NoSuchTable), (ErrorKind::Peer, Exit::Missing));
    assert_eq!(judged(ProblemCode::NotLogged), (ErrorKind::Peer, Exit::Missing));
    for code in [ProblemCode::Malformed, ProblemCode::BadQuery, ProblemCode::BadKeys] {
        assert_eq!(judged(code), (ErrorKind::Peer, Exit::Peer));
    }
    assert_eq!(judged(ProblemCode::WrongMethod), (ErrorKind::Peer, Exit::Peer));
    assert_eq!(judged(ProblemCode::Internal), (ErrorKind::Peer, Exit::Peer));
    assert_eq!(judged(ProblemCode::StaleEpoch), (ErrorKind::Peer, Exit::Refused));
    assert_eq!(judged(ProblemCode::Busy), (ErrorKind::Network, Exit::Refused));
    let problem = Problem::new(ProblemCode::EpochAhead, "epoch 9 is not here");
    let line = "epoch 9 is not here (epoch-ahead): wait a little, or fetch the catalog from this server";
    assert_eq!(problem.to_string(), line);
}

/// A function for each route that has names in it.
#[test]
fn paths_fill_the_patterns_in() {
    let filled = |pattern: &str| {
        [("{table}", "t"), ("{stack}", "s"), ("{digest}", "d"), ("{key}", "k"), ("{*path}", "tile/0/000")]
            .iter()
            .fold(pattern.to_owned(), |path, (name, value)| path.replace(name, value))
    };
    let paths = [
        (routes::TABLE, routes::table("t", None)),
        (routes::KEYS, routes::keys("t")),
        (routes::QUERY, routes::query("t")),
        (routes::STREAM, routes::stream("t")),
        (routes::HINTS, routes::hints("t")),
        (routes::EVALUATE, routes::evaluate("t")),
        (routes::STACK, routes::stack("s")),
        (routes::ARTIFACT, routes::artifact("d")),
        (routes::LOG_PROOF, routes::log_proof("k", "d")),
        (routes::LOG_FILE, routes::log_file("k", "tile/0/000")),
    ];
    for (pattern, path) in paths {
        assert_eq!(path, filled(pattern));
    }
    assert_eq!(routes::table("t", Some(Epoch(3))), "/v1/tables/t?epoch=3");
}

#[test]
fn texts_of_a_peer_are_safe_to_print() {
    let body = format!(r#"{{"code":"busy","message":"a\u001b[2Jb{}"}}"#, "x".repeat(900));
    let problem = Problem::read(429, body.as_bytes());
    assert!(problem.message.starts_with("a[2Jb") && problem.message.chars().count() == 300);
    assert_eq!(problem.fix, ProblemCode::Busy.fix());
}

#[test]
fn the_timing_header_has_one_length() {
    for us in [0, 1, 999, 1_000, 123_456_789, u64::MAX] {
        let timing = Timing { queue: Duration::from_micros(us), pass: Duration::ZERO };
        let text = timing.to_header();
        assert_eq!(text.len(), Timing::default().to_header().len());
        let read = Timing::parse(&text).unwrap();
        assert_eq!(read.queue.as_micros(), u128::from(us.min(9_999_999_999)));
    }
    for bad in ["", "queue;dur=1.0, pass;dur=1.0", "queue;dur=+000001.000, pass;dur=0000000.000"] {
        assert_eq!(Timing::parse(bad), None);
    }
}

#[test]
fn sizes_are_exact_and_do_not_overflow() {
    let costs = Costs { query_bytes: 100, answer_bytes: 10, keys_bytes: 5, ..Costs::default() };
    let sizes = MessageSizes::new(&costs, 1);
    assert_eq!(
        (sizes.query_frame_bytes(2), sizes.answer_frame_bytes(2), sizes.keys_frame_bytes()),
        (264, 68, 53)
    );
    assert_eq!(sizes.max_queries, 64);
    assert_eq!(MessageSizes::new(&costs, 128).max_queries, 128);
    let of_a_film = Costs { answer_bytes: 20 << 20, ..costs };
    assert_eq!([1, 2, 5].map(|lookups| MessageSizes::new(&of_a_film, lookups).max_queries), [3, 3, 5]);
    let huge = Costs { query_bytes: u64::MAX, answer_bytes: u64::MAX, keys_bytes: u64::MAX, ..costs };
    assert_eq!(MessageSizes::new(&huge, usize::MAX).max_query_frame_bytes(), u64::MAX);
    assert_eq!(MessageSizes::new(&huge, 1).max_queries, 1);
}

proptest! {
    #[test]
    fn any_refusal_is_read(status in 400u16..600, body in prop::collection::vec(any::<u8>(), 0..300)) {
        let problem = Problem::read(status, &body);
        prop_assert!(!problem.fix.is_empty());
    }

    #[test]
    fn any_timing_is_judged(text in ".{0,60}") {
        let _ = Timing::parse(&text);
    }
}

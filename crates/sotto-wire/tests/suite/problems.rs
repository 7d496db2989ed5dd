//! Refusals are decoded as they were encoded, and bodies of others get a sensible code.

use proptest::prelude::*;
use sotto_core::{Costs, Epoch};
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
    assert_eq!(Problem::read(502, b"<html>bad gateway</html>").code, ProblemCode::NotReady);
    assert_eq!(Problem::read(429, b"").code, ProblemCode::Busy);
    assert_eq!(Problem::read(418, b"[]").code, ProblemCode::Malformed);
    assert_eq!(
        Problem::read(409, br#"{"code":"made-up-tomorrow","message":"m"}"#).code,
        ProblemCode::StaleEpoch
    );
    let huge = format!(r#"{{"code":"busy","message":"{}"}}"#, "x".repeat(5000));
    assert!(Problem::read(429, huge.as_bytes()).message.contains("no readable reason"));
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

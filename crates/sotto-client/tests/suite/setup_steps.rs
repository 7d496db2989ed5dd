//! The setup without I/O: its steps in order, and errors for calls out of order.
#[allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]
use crate::common::{CHUNK, Server, server, server_of, value};
use sotto_client::SessionSetup;
use sotto_client::session::Action;
use sotto_client::transport::{Request, Response};
use sotto_testkit::rng;

fn respond(server: &Server, request: &Request) -> Response {
    server.with(|world| world.call(request)).unwrap()
}

/// Carries out the step that fetches the catalog.
fn begun(server: &Server) -> SessionSetup {
    let mut opening = SessionSetup::new(server.config());
    let Action::Catalog { request, .. } = opening.next() else { panic!("the catalog comes first") };
    opening.feed(&respond(server, &request), &mut rng::seeded("steps")).unwrap();
    opening
}

#[test]
fn catalog_artifacts_keys_ready() {
    let server = server_of("clear-keyed/1", 40_000, 32);
    let mut rng = rng::seeded("order");
    let mut opening = begun(&server);
    let Action::Fetch(fetch) = opening.next() else { panic!("a hint is needed") };
    assert_eq!(fetch.range, 0..320_000, "all of it fits in one fetch");
    opening.feed(&respond(&server, &fetch.request), &mut rng).unwrap();
    let Action::Keys { request, .. } = opening.next() else { panic!("the scheme has keys") };
    opening.feed(&respond(&server, &request), &mut rng).unwrap();
    assert!(matches!(opening.next(), Action::Ready));
    let mut session = opening.finish().unwrap();
    let ask = session.query(&[39_999, 0], &mut rng).unwrap();
    let [request] = ask.requests() else { panic!("there is one server") };
    assert_eq!(request.limit, session.sizes().answer_frame_bytes(2));
    let answer = respond(&server, request);
    assert_eq!(session.recover(ask, &[answer]).unwrap(), [value(39_999, 32), value(0, 32)]);
}

#[test]
fn held_bytes_count_as_far_as_they_are_right() {
    let server = server(40_000, 32);
    let mut opening = begun(&server);
    let hint = server.with(|world| world.hint());
    assert_eq!(opening.offer_cached(&hint[..CHUNK - 1]).unwrap(), 0, "not a whole chunk");
    let mut damaged = hint.clone();
    damaged[3 * CHUNK] ^= 1;
    assert_eq!(opening.offer_cached(&damaged).unwrap(), 3 * CHUNK);
    let Action::Fetch(fetch) = opening.next() else { panic!("the rest is wanted") };
    assert_eq!(fetch.range, 3 * CHUNK as u64..320_000);
    assert_eq!(opening.offer_cached(&hint[3 * CHUNK..]).unwrap(), hint.len() - 3 * CHUNK);
    assert!(matches!(opening.next(), Action::Ready));
}

#[test]
fn a_step_that_failed_can_be_tried_again() {
    let server = server(40_000, 32);
    let mut rng = rng::seeded("again");
    let mut opening = SessionSetup::new(server.config());
    let Action::Catalog { request, .. } = opening.next() else { panic!("the catalog comes first") };
    opening.feed(&Response::new(200, b"{}".to_vec()), &mut rng).unwrap_err();
    opening.feed(&Response::new(503, Vec::new()), &mut rng).unwrap_err();
    opening.feed(&respond(&server, &request), &mut rng).unwrap();
    let Action::Fetch(fetch) = opening.next() else { panic!("a hint is needed") };
    let good = respond(&server, &fetch.request);
    let mut bad = good.clone();
    bad.body[2 * CHUNK] ^= 1;
    opening.feed(&bad, &mut rng).unwrap_err();
    let Action::Fetch(rest) = opening.next() else { panic!("the rest is wanted") };
    assert_eq!(rest.range.start, 2 * CHUNK as u64, "what was right is not fetched again");
    opening.feed(&respond(&server, &rest.request), &mut rng).unwrap();
    assert!(opening.finish().is_ok());
}

#[test]
fn steps_out_of_order_are_misuse() {
    let server = server(40_000, 32);
    let mut opening = SessionSetup::new(server.config());
    assert_eq!(opening.offer_cached(b"").unwrap_err().code(), "misuse");
    assert_eq!(opening.cached_artifact(None).unwrap_err().code(), "misuse");
    assert_eq!(opening.finish().unwrap_err().code(), "misuse");
    let mut opening = begun(&server);
    assert_eq!(opening.cached_artifact(None).unwrap_err().code(), "misuse", "there is no delta");
    assert_eq!(opening.finish().unwrap_err().code(), "misuse");
    let mut opening = begun(&server);
    opening.offer_cached(&server.with(|world| world.hint())).unwrap();
    let error = opening.feed(&Response::new(200, Vec::new()), &mut rng::seeded("late")).unwrap_err();
    assert_eq!(error.code(), "misuse");
}

#[test]
fn a_session_id_has_sixteen_bytes() {
    let server = server_of("clear-keyed/1", 10, 32);
    let mut rng = rng::seeded("id");
    let mut opening = begun(&server);
    opening.offer_cached(&server.with(|world| world.hint())).unwrap();
    for len in [0, 15, 17] {
        let error = opening.feed(&Response::new(200, vec![1; len]), &mut rng).unwrap_err();
        assert_eq!(error.code(), "peer-misbehaved");
    }
    assert!(matches!(opening.next(), Action::Keys { server: 0, .. }));
}

#[test]
fn nothing_prints_what_is_asked() {
    let server = server(300, 32);
    let mut opening = begun(&server);
    opening.offer_cached(&server.with(|world| world.hint())).unwrap();
    let mut session = opening.finish().unwrap();
    let ask = session.query(&[271], &mut rng::seeded("print")).unwrap();
    assert!(!format!("{ask:?} {session:?}").contains("271"));
}

//! Malformed answers: each is refused with its own code, and never leads to another request.
use crate::common::{server, server_of, value};
use sotto_client::Table;
use sotto_client::transport::{Request, Response};
use sotto_wire::{Problem, ProblemCode, answer, query};

/// Looks up one row and three rows while `tamper` changes the responses, and returns the codes of
/// the errors.
fn codes(tamper: impl Fn(&mut Vec<u8>) + Send + Clone + 'static) -> [&'static str; 2] {
    let server = server(300, 2);
    let mut table = server.table().open().unwrap();
    server.tamper_asks(tamper);
    server.received();
    let ask = |table: &mut Table, rows: &[u64]| table.get_many(rows).unwrap_err().code();
    let codes = [ask(&mut table, &[7]), ask(&mut table, &[7, 8, 299])];
    assert_eq!(server.received().len(), 2, "one request each");
    codes
}

#[test]
fn truncated_everywhere() {
    let whole = answer::HEAD_BYTES + 32;
    for len in 0..whole {
        assert_eq!(codes(move |body| body.truncate(len)), ["bad-answer"; 2], "at {len}");
    }
}

#[test]
fn too_long() {
    // More than the parameters allow is not even read.
    assert_eq!(codes(|body| body.push(0)), ["response-too-large"; 2]);
}

#[test]
fn every_bit_of_the_head() {
    for bit in 0..answer::HEAD_BYTES * 8 {
        assert_eq!(codes(move |body| body[bit / 8] ^= 1 << (bit % 8)), ["bad-answer"; 2], "bit {bit}");
    }
}

#[test]
fn wrong_count() {
    // A valid frame, of another number of answers.
    let swap = |body: &mut Vec<u8>| {
        let count = u16::from_le_bytes([body[6], body[7]]);
        let other = if count == 1 { 2u16 } else { 1 };
        body.resize(answer::HEAD_BYTES + usize::from(other.min(count)) * 32, 0);
        body[6..8].copy_from_slice(&other.to_le_bytes());
    };
    assert_eq!(codes(swap), ["bad-answer"; 2]);
}

#[test]
fn every_bit_of_the_payload() {
    for bit in (0..32 * 8).step_by(7) {
        let flip = move |body: &mut Vec<u8>| body[answer::HEAD_BYTES + bit / 8] ^= 1 << (bit % 8);
        assert_eq!(codes(flip), ["unreadable"; 2], "bit {bit}");
    }
}

#[test]
fn refusals_keep_their_names() {
    let server = server(300, 2);
    let mut table = server.table().open().unwrap();
    for code in [
        ProblemCode::Malformed,
        ProblemCode::TooLarge,
        ProblemCode::Busy,
        ProblemCode::Internal,
        ProblemCode::EpochAhead,
    ] {
        server.received();
        server.tamper(move |_, _| Ok(Response::new(code.status(), Problem::new(code, "no").to_bytes())));
        let error = table.get(1).unwrap_err();
        assert_eq!(error.code(), code.text());
        assert_eq!(error.fix(), code.fix());
        assert_eq!(server.received().len(), 1);
    }
}

#[test]
fn a_new_epoch_is_opened_and_asked_anew() {
    let server = server(300, 2);
    let mut table = server.table().open().unwrap();
    assert_eq!(table.get(5).unwrap(), value(5, 2));
    server.with(|world| world.update(&[5]));
    server.received();
    assert_eq!(table.get(5).unwrap(), [0xEE; 2]);
    let paths: Vec<_> = server.received().into_iter().map(|request| request.path).collect();
    assert_eq!(paths.len(), 4, "refused, catalog, hint, answered: {paths:?}");
    assert_eq!(table.last_lookup().unwrap().epoch.0, 2);
    assert!(!table.refresh().unwrap(), "it is the newest");
}

#[test]
fn an_epoch_that_never_settles_ends() {
    let server = server(300, 2);
    let mut table = server.table().open().unwrap();
    let stale = || Problem::new(ProblemCode::StaleEpoch, "over").to_bytes();
    server.tamper(move |request, honest| {
        Ok(if request.path.ends_with("/ask") { Response::new(409, stale()) } else { honest })
    });
    server.received();
    assert_eq!(table.get(5).unwrap_err().code(), "epoch-changed");
    assert_eq!(server.received().iter().filter(|request| request.path.ends_with("/ask")).count(), 2);
}

#[test]
fn expired_keys_are_registered_anew() {
    let server = server_of("clear-keyed/1", 300, 2);
    let mut table = server.table().open().unwrap();
    assert_eq!(table.get(5).unwrap(), value(5, 2));
    server.with(|world| world.drop_sessions());
    server.received();
    assert_eq!(table.get(6).unwrap(), value(6, 2));
    let received = server.received();
    let paths: Vec<_> = received.iter().map(|request| request.path.rsplit('/').next().unwrap()).collect();
    assert_eq!(paths, ["ask", "keys", "ask"], "no catalog, no hint");
    let queries = |request: &Request| request.body[query::HEAD_BYTES..].to_vec();
    assert_eq!(queries(&received[0]), queries(&received[2]), "the same query, bit for bit");
    assert_eq!(table.stats().keys.requests, 2);
}

#[test]
fn a_server_that_forgets_at_once_is_not_asked_for_ever() {
    let server = server_of("clear-keyed/1", 300, 2);
    let mut table = server.table().open().unwrap();
    let forgotten = || Problem::new(ProblemCode::SessionExpired, "who are you?").to_bytes();
    server.tamper(move |request, honest| {
        Ok(if request.path.ends_with("/ask") { Response::new(410, forgotten()) } else { honest })
    });
    server.received();
    assert_eq!(table.get(5).unwrap_err().code(), "session-expired");
    assert_eq!(server.received().len(), 3, "asked, registered, asked");
}

#[test]
fn keys_that_are_good_for_any_epoch_are_uploaded_once() {
    let server = server_of("clear-stream/1", 300, 2);
    let mut table = server.table().open().unwrap();
    for row in [5, 6] {
        server.with(|world| world.update(&[row]));
        server.received();
        assert_eq!(table.get(row).unwrap(), [0xEE; 2]);
        let paths: Vec<_> = server.received().into_iter().map(|request| request.path).collect();
        assert_eq!(paths.len(), 3, "refused, catalog, answered: {paths:?}");
    }
    server.with(|world| world.update(&[7]));
    assert!(table.refresh().unwrap());
    assert_eq!(table.get(7).unwrap(), [0xEE; 2]);
    assert_eq!(table.stats().keys.requests, 1);
    // A hint belongs to one epoch, and so does the client that is made from it.
    let server = server_of("clear-keyed/1", 300, 2);
    let mut table = server.table().open().unwrap();
    server.with(|world| world.update(&[5]));
    assert_eq!(table.get(5).unwrap(), [0xEE; 2]);
    assert_eq!(table.stats().keys.requests, 2);
}

#[test]
fn an_ask_of_another_session_is_refused() {
    let server = server(300, 2);
    let mut rng = sotto_testkit::rng::seeded("asks");
    let mut sessions = [(); 2].map(|()| {
        let session = server.session();
        server.with(|world| world.update(&[1]));
        session
    });
    let ask = sessions[0].query(&[1], &mut rng).unwrap();
    let response = Response::new(200, Vec::new());
    assert_eq!(sessions[1].recover(ask, &[response]).unwrap_err().code(), "misuse");
}

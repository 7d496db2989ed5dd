//! Schemes whose hints a server makes: hint requests, hint responses, and clients that are refilled
//! as they go.

use super::subject::{MIDDLE, NARROW, Subject, Table, WIDE, refill_hints};
use super::wire::{damage, harmless};
use crate::rng::seeded;
use sotto_core::{AnyClient, AnyServer, Budget, CryptoRng, Error, PeerMisbehaved, RecordIndex, Result};

/// Has hints made as [`refill_hints`] does; `spoil` may change the responses.
fn stock_with(
    client: &mut dyn AnyClient,
    helper: &dyn AnyServer,
    spoil: &mut dyn FnMut(&mut [u8]),
) -> Result<()> {
    let hint_client = client.hint_client().expect("a client of such a scheme orders");
    let hint_server = helper.hint_server().expect("a server of such a scheme supplies");
    while let Some(request) = hint_client.next_hint_request()? {
        let response = hint_server.answer_hint_request(&request)?;
        let mut spoilt = response.clone();
        spoil(&mut spoilt);
        // Where a response must be valid, a wrong one is refused and the request stands.
        match hint_client.apply_hint_response(&spoilt) {
            Err(Error::Peer(_)) if spoilt != response => hint_client.apply_hint_response(&response)?,
            taken => taken?,
        }
    }
    Ok(())
}

/// A client that has no hints yet.
fn fresh(table: &Table, rng: &mut dyn CryptoRng) -> Box<dyn AnyClient> {
    let prepare = (table.entry.prepare)(&table.params, rng).unwrap();
    assert!(prepare.needs().is_empty(), "hints are ordered and not streamed");
    prepare.finish().unwrap()
}

/// Hint requests and responses have the sizes that entry and server agree on; a request is the same
/// until it is answered; and a response that has another size, or comes twice, is refused.
pub fn have_their_sizes(subject: &Subject) {
    let entry = subject.entry.hint_server.unwrap();
    assert!(entry.role < subject.entry.servers);
    for case in [NARROW, MIDDLE, WIDE] {
        let table = subject.table(case);
        let hint_server = table.server.hint_server().expect("a server of such a scheme supplies");
        let (hint_request_bytes, hint_response_bytes) = (entry.sizes)(&table.params).unwrap();
        assert_eq!(hint_server.hint_request_bytes() as u64, hint_request_bytes);
        assert_eq!(hint_server.hint_response_bytes() as u64, hint_response_bytes);
        let mut client = fresh(&table, &mut seeded("orders"));
        assert!(client.budget() == Budget::Left(0), "a client without hints can ask nothing");
        let hint_client = client.hint_client().expect("a client of such a scheme orders");
        assert!(
            hint_client.apply_hint_response(&vec![0; hint_response_bytes as usize]).is_err(),
            "a supply that nobody ordered"
        );
        while let Some(request) = hint_client.next_hint_request().unwrap() {
            assert_eq!(request.len() as u64, hint_request_bytes);
            let response = hint_server.answer_hint_request(&request).unwrap();
            assert_eq!(response.len() as u64, hint_response_bytes);
            for wrong in [&response[..response.len() - 1], &response[..0], &[&response[..], &[0]].concat()] {
                let refused = hint_client.apply_hint_response(wrong);
                assert!(matches!(refused, Err(Error::Peer(PeerMisbehaved::Length { .. }))), "{refused:?}");
            }
            assert!(
                hint_client.next_hint_request().unwrap() == Some(request),
                "an order stands until it is supplied"
            );
            hint_client.apply_hint_response(&response).unwrap();
            assert!(hint_client.apply_hint_response(&response).is_err(), "a supply is taken once");
        }
        assert!(client.budget() != Budget::Left(0), "a client that was supplied can ask");
    }
}

/// Hint requests of wrong lengths, with flipped bits, and of arbitrary bytes.
pub fn damaged_do_no_harm(subject: &Subject) {
    let table = subject.table(NARROW);
    let hint_server = table.server.hint_server().expect("a server of such a scheme supplies");
    let rng = &mut seeded("damaged orders");
    let mut client = fresh(&table, rng);
    let request = client.hint_client().unwrap().next_hint_request().unwrap().expect("a fresh client orders");
    for len in (0..request.len()).chain([request.len() + 1, 2 * request.len()]) {
        let mut wrong = request.clone();
        wrong.resize(len, 0);
        let result = hint_server.answer_hint_request(&wrong);
        assert!(matches!(result, Err(Error::Peer(PeerMisbehaved::Length { .. }))), "{len} bytes");
    }
    for damaged in damage(&request, rng) {
        match hint_server.answer_hint_request(&damaged) {
            Ok(response) => assert_eq!(response.len(), hint_server.hint_response_bytes()),
            Err(error) => assert!(matches!(error, Error::Peer(_)), "{error:?}"),
        }
    }
}

/// The time of hint requests depends on the number of queries, and on nothing else; and the content
/// of responses changes nothing that is sent.
pub fn are_apart_from_queries(subject: &Subject) {
    let table = subject.table(NARROW);
    let transcript = |lies: bool, row: &dyn Fn(u64) -> u64| {
        let rng = &mut seeded("apart");
        let mut client = fresh(&table, rng);
        let mut sent = Vec::new();
        let (mut due, mut noise) = (Vec::new(), seeded("lies"));
        for i in 0..300 {
            let mut spoil = |response: &mut [u8]| {
                due.push(i);
                if lies {
                    rand_core::Rng::fill_bytes(&mut noise, response);
                }
            };
            stock_with(client.as_mut(), table.server.as_ref(), &mut spoil).unwrap();
            if client.budget() == Budget::Left(0) {
                break;
            }
            let (queries, pending) = client.query(RecordIndex(row(i)), rng).unwrap();
            let session = table.session(client.as_ref());
            let answers = table.answer(&session, &queries).unwrap();
            let read = client.recover(pending, &answers);
            if lies {
                harmless(read);
            } else {
                assert!(read.unwrap().bytes() == table.record(row(i)), "query {i}");
            }
            sent.push(queries);
        }
        (due, sent)
    };
    let records = table.report.records;
    let ascending = |i: u64| i % records;
    let (due, sent) = transcript(false, &ascending);
    // A hint server that also answers queries makes hints as it answers.
    let is_asked = subject.entry.hint_server.is_some_and(|entry| entry.role < subject.entry.query_servers);
    assert!(is_asked || due.iter().any(|i| *i > 0), "a client orders while it asks");
    assert!(transcript(true, &ascending) == (due.clone(), sent), "a lie changed what is sent");
    assert!(transcript(false, &|_| records - 1).0 == due, "orders depend on what is asked");
}

/// Without hint responses the budget decreases by one with each query; if it ends, a response adds
/// to it.
pub fn budget(subject: &Subject) {
    let table = subject.table(NARROW);
    let rng = &mut seeded("budget");
    let mut client = fresh(&table, rng);
    let none = client.query(RecordIndex(0), rng);
    assert!(matches!(none, Err(Error::Exhausted(_))), "a query without hints");
    refill_hints(client.as_mut(), table.server.as_ref()).unwrap();
    let Budget::Left(left) = client.budget() else { panic!("hints are used up") };
    // The number suffices for most budgets, and takes just a moment of a large one.
    let end = left.saturating_sub(4096);
    for left in (end..left).rev() {
        client.query(RecordIndex(0), rng).unwrap();
        assert_eq!(client.budget(), Budget::Left(left));
    }
    if end > 0 {
        return;
    }
    assert!(matches!(client.query(RecordIndex(0), rng), Err(Error::Exhausted(Budget::Left(0)))));
    refill_hints(client.as_mut(), table.server.as_ref()).unwrap();
    assert!(client.query(RecordIndex(0), rng).is_ok(), "a supply is worth queries");
}

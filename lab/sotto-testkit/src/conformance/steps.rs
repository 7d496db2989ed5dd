//! Answers step by step, where the scheme can.

use super::subject::{MIDDLE, Subject, WIDE};
use crate::rng::seeded;
use sotto_core::{Error, Misuse, RecordIndex};

/// Every order of steps recovers the record, reports the same steps each time, and is found by its
/// name.
pub fn come_back(subject: &Subject) {
    for case in [MIDDLE, WIDE] {
        let table = subject.table(case);
        let Some(steps) = table.server.steps() else { return };
        let rng = &mut seeded("steps");
        let mut client = table.client(rng);
        let session = table.session(client.as_ref());
        assert!(!steps.orders().is_empty(), "an order that answers are made in");
        for record in table.some_records() {
            for order in steps.orders() {
                let (queries, ticket) =
                    client.query(RecordIndex(record), rng).expect("a query within bounds");
                let ask = || {
                    let mut said = Vec::new();
                    let answer = steps.answer(&session, &queries[0], order, &mut |step| said.push(step));
                    (answer.expect("a client's own query is answered"), said)
                };
                let ((answer, said), again) = (ask(), ask());
                assert!(!said.is_empty() && said == again.1, "{order}: {said:?}");
                let got = client.recover(ticket, &[answer]).expect("an honest answer is read");
                assert!(got.bytes() == table.record(record), "{order}: record {record} came back changed");
            }
        }
        let (queries, _) = client.query(RecordIndex(0), rng).expect("a query within bounds");
        let unknown = steps.answer(&session, &queries[0], "no order has this name", &mut |_| ());
        assert!(matches!(unknown, Err(Error::Misuse(Misuse::Rule(_)))), "{unknown:?}");
        let short = steps.answer(&session, &queries[0][1..], steps.orders()[0], &mut |_| ());
        assert!(matches!(short, Err(Error::Peer(_))), "{short:?}");
    }
}

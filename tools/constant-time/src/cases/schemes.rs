//! Every registered scheme, as its clients use it: all that they draw is secret, and so is the record they ask for.

use super::Case;
use crate::secret::{Hidden, bytes_of, hidden, sent, show, shown};
use crate::trial::{pick, source, timed};
use sotto_core::{AnyClient, Budget, RecordIndex, SchemeEntry};
use sotto_registry::SCHEMES;
use sotto_testkit::conformance::subject::{self, Fill, Subject, Table, single};
use sotto_testkit::rng::seeded;

/// A small table, of which all schemes make several records.
const TABLE: subject::Case = subject::Case { rows: 1000, row_bytes: 40, fill: Fill::Random };

pub(super) fn cases() -> Vec<Case> {
    SCHEMES.iter().map(|entry| Case::new(format!("scheme/{}", entry.id), 2, || lookup(entry))).collect()
}

fn lookup(entry: &'static SchemeEntry) -> impl FnMut(usize) {
    let table = Subject::private(entry).fresh_table(TABLE);
    let records = table.report.records;
    assert!(records > 1, "{}: there is nothing to hide", entry.id);
    let prepared = move |table: &Table| {
        let rng = &mut Hidden(seeded(entry.id.0));
        let mut client = table.unstocked(&table.image, rng).expect("a fresh image prepares a client");
        stock(client.as_mut(), table);
        let keys = sent(vec![client.keys()]).concat();
        (client, table.server.admit(&keys).expect("a client's own keys are admitted"))
    };
    let (mut client, mut session) = prepared(&table);
    move |round| {
        // How many lookups there were is no secret.
        if shown(client.budget()) == Budget::Left(0) {
            (client, session) = prepared(&table);
        }
        let record = pick([records / 3, records - 1][round], records);
        let index = RecordIndex(hidden(record));
        let rng = &mut Hidden(source(&format!("{} {round}", entry.id)));
        let (queries, ticket) = timed(|| client.query(index, rng)).expect("a query within bounds");
        stock(client.as_mut(), &table);
        let answer = |query: &Vec<u8>| single(table.server.as_ref(), &session, query);
        let answers: Result<Vec<_>, _> = sent(queries).iter().map(answer).collect();
        let answers = answers.expect("a client's own query is answered");
        let mut read = timed(|| client.recover(ticket, &answers));
        // Whether it could be read its reader learns.
        show(&mut read);
        let read = read.expect("an honest answer is read");
        assert!(bytes_of(&read) == table.record(record), "{}: another record", entry.id);
    }
}

/// Has all hints made that a client can order.
fn stock(client: &mut dyn AnyClient, table: &Table) {
    let (Some(upkeep), Some(supplier)) = (client.upkeep(), table.server.supplier()) else { return };
    while let Some(order) = upkeep.order().expect("a client's own order") {
        let order = sent(vec![order]).concat();
        let supply = supplier.supply(&order).expect("an honest order is supplied");
        upkeep.stock(&supply).expect("an honest supply is taken");
    }
}

//! Orders and supplies of every registered scheme whose hints a server makes. As with other messages, input of a wrong
//! size is fed as it is and once more, cut or repeated.

use crate::scheme::{fit, taken};
use sotto_core::{AnyClient, RecordIndex};
use sotto_registry::SCHEMES;
use sotto_testkit::conformance::Subject;
use sotto_testkit::conformance::refilled_client::refill_hints;
use sotto_testkit::conformance::subject::{NARROW, Table};
use sotto_testkit::rng::seeded;
use std::sync::LazyLock;

static TABLES: LazyLock<Vec<Table>> = LazyLock::new(|| {
    let ordering = SCHEMES.iter().filter(|entry| entry.hint_server.is_some());
    ordering.map(|entry| Subject::private(entry).fresh_table(NARROW)).collect()
});

/// A client that has ordered nothing.
fn fresh(table: &Table) -> Box<dyn AnyClient> {
    (table.entry.prepare)(&table.params, &mut seeded("fuzz")).unwrap().finish().unwrap()
}

/// Feeds all schemes; says whether one took the bytes.
fn each(feed: impl Fn(&Table) -> bool) -> bool {
    TABLES.iter().filter(|table| feed(table)).count() > 0
}

/// An order.
pub(crate) fn scheme_order(data: &[u8]) -> bool {
    each(|table| {
        let supplier = table.server.supplier().expect("a server of such a scheme supplies");
        let fitted = fit(data, supplier.order_bytes());
        assert!(fitted == data || !taken(supplier.supply(data)), "an order of a wrong size was taken");
        match supplier.supply(&fitted) {
            Ok(supply) => {
                assert_eq!(supply.len(), supplier.supply_bytes());
                true
            }
            refused => taken(refused),
        }
    })
}

/// Orders: the first, and the one that a first query makes due.
pub(crate) fn orders() -> Vec<Vec<u8>> {
    let orders = |table: &Table| {
        let mut client = fresh(table);
        let first = client.hint_client().unwrap().next_hint_request().unwrap();
        refill_hints(client.as_mut(), table.server.as_ref()).unwrap();
        client.query(RecordIndex(0), &mut seeded("fuzz")).unwrap();
        [first, client.hint_client().unwrap().next_hint_request().unwrap()]
    };
    TABLES.iter().flat_map(orders).flatten().collect()
}

/// The supply to a first order.
pub(crate) fn scheme_supply(data: &[u8]) -> bool {
    each(|table| {
        let mut client = fresh(table);
        let hint_client = client.hint_client().expect("a client of such a scheme orders");
        assert!(hint_client.next_hint_request().unwrap().is_some(), "a fresh client orders");
        let fitted = fit(data, table.server.supplier().unwrap().supply_bytes());
        assert!(
            fitted == data || !taken(hint_client.apply_hint_response(data)),
            "a supply of a wrong size was taken"
        );
        taken(hint_client.apply_hint_response(&fitted))
    })
}

/// Supplies, cut short; the rest repeats them.
pub(crate) fn supplies() -> Vec<Vec<u8>> {
    let supply = |table: &Table| {
        let order = fresh(table).hint_client().unwrap().next_hint_request().unwrap().unwrap();
        let supply = table.server.supplier().unwrap().supply(&order).unwrap();
        supply[..supply.len().min(4096)].to_vec()
    };
    TABLES.iter().map(supply).collect()
}

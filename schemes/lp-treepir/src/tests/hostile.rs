//! Answers and supplies that lie, and hints that run out.

use super::setup::Table;
use crate::TreePir;
use crate::set::{Place, Set};
use sotto_core::{Client as _, Error, Stateful, Two, Upkeep};
use sotto_testkit::rng::seeded;

/// Two clients with the same key and coins, one of which is lied to by either server, and in what was supplied: what they
/// send never differs.
#[test]
fn lies_do_not_change_what_is_sent() {
    let table = Table::new(30, 4, 600);
    let mut honest = table.client(8);
    let mut lied_to = table.unstocked(8);
    while let Some(order) = TreePir::order(&mut lied_to).unwrap() {
        let mut supply = table.supply(&order);
        supply.0.iter_mut().step_by(9).for_each(|byte| *byte ^= 1);
        TreePir::stock(&mut lied_to, supply).unwrap();
    }
    let (one, other) = (&mut seeded("lies"), &mut seeded("lies"));
    let (mut unreadable, mut rejected) = (0, 0);
    for i in 0..600 {
        let index = i * i % 30;
        let (requests, pending) = table.ask(&mut honest, index, one);
        honest.recover(pending, table.answer(&requests)).unwrap();
        let (same, pending) = table.ask(&mut lied_to, index, other);
        assert_eq!(requests, same, "query {i}");
        let mut answers = table.answer(&same);
        let Two(first, second) = &mut answers;
        match i % 5 {
            0 => first.0[0] ^= 1,
            1 => second.0[3] ^= 1,
            2 => first.0[5] ^= 1,
            _ => {}
        }
        let number = TreePir::number(&pending);
        match lied_to.recover(pending, answers) {
            Ok(record) if record.bytes() != table.row(index) => {
                TreePir::reject(&mut lied_to, number);
                rejected += 1;
            }
            Ok(_) => {}
            Err(Error::Unreadable) => unreadable += 1,
            Err(error) => panic!("{error:?}"),
        }
    }
    assert!(rejected > 20 && unreadable > 20, "{rejected} rejected, {unreadable} unreadable");
}

/// Without a hint a request is sent all the same, of the same form, and read as nothing.
#[test]
fn a_row_in_no_hint_is_asked_for_and_not_found() {
    let table = Table::new(64, 3, 300);
    let rng = &mut seeded("no hint");
    let mut client = table.client(1);
    // All hints are one, and it changes only when it is spent.
    let same = client.hints[0];
    client.hints.iter_mut().for_each(|hint| hint.set = same.set);
    let mut absent = (0..8).map(|offset| Place { partition: 5, offset });
    let absent = absent.rfind(|place| same.set.contains(*place, &client.trees) == 0).unwrap();
    let before: Vec<Set> = client.hints.iter().take(table.params.hints()).map(|hint| hint.set).collect();
    for i in 0..300 {
        let result = table.fetch(&mut client, 40 + u64::from(absent.offset), rng);
        assert!(matches!(result, Err(Error::Unreadable)), "query {i}: {result:?}");
    }
    let after: Vec<Set> = client.hints.iter().take(table.params.hints()).map(|hint| hint.set).collect();
    assert!(before == after, "no hint was spent");
}

/// What was rejected is forgotten, and nothing else is.
#[test]
fn a_rejected_row_is_nowhere() {
    let table = Table::new(30, 4, 1000);
    let rng = &mut seeded("rejected");
    let mut client = table.client(2);
    let all = table.params.hints();
    table.fetch(&mut client, 3, rng).unwrap();
    let (number, slot) = client.last.unwrap();
    TreePir::reject(&mut client, number + 1);
    assert_eq!(table.check_parities(&client), all);
    TreePir::reject(&mut client, number);
    assert_eq!(table.check_parities(&client), all - 1);
    let width = table.params.row_bytes();
    assert!(client.parities[slot as usize * width..][..width].iter().all(|byte| *byte == 0));
    let unreadable = (0..300).filter(|_| table.fetch(&mut client, 3, rng).is_err()).count();
    assert!(unreadable >= 1, "one of a few hints with the row was chosen in 300 queries");
}

#[test]
fn foreign_and_repeated_queries_are_misuse() {
    let table = Table::new(30, 4, 100);
    let rng = &mut seeded("foreign");
    let (mut one, mut other) = (table.client(1), table.client(2));
    let (requests, pending) = table.ask(&mut one, 3, rng);
    let _ = table.ask(&mut other, 3, rng);
    let result = other.recover(pending, table.answer(&requests)).map(|_| "a record");
    assert!(matches!(result, Err(Error::Misuse(_))), "{result:?}");
    let again = TreePir::reopen(&mut one, 1).unwrap();
    let twice = TreePir::reopen(&mut one, 1).unwrap();
    one.recover(again, table.answer(&requests)).unwrap();
    let result = one.recover(twice, table.answer(&requests)).map(|_| "a record");
    assert!(matches!(result, Err(Error::Misuse(_))), "{result:?}");
    assert!(TreePir::reopen(&mut one, 1).is_err() && TreePir::reopen(&mut one, 2).is_err());
}

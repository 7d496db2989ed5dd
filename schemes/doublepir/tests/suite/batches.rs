//! Strangers in one pass get what each would have got alone, and records of all shapes come back.

use crate::setup::{Table, WIDEST, bytes, literal};
use sotto_core::{Client as _, OneServer, RecordIndex, Server as _};
use sotto_doublepir::message::Query;
use sotto_testkit::rng::seeded;

#[test]
fn records_of_all_shapes_come_back() {
    // One record; a column that is not full; a width that divides no panel; several ring blocks in either matrix.
    for shape in [[1, 1, 1], [1, 100, 16], [3, 75, 32], [7, 40, 8], [64, 9, 2], [1, 9000, 2], [2, 5000, 2048]]
    {
        let [width, records, _] = shape;
        for fill in [bytes, |count| vec![0x80; count], |count| vec![0x7F; count]] {
            let table = Table::checked(literal(shape, WIDEST), fill((width * records) as usize));
            let mut client = table.client("prepare");
            for index in [0, records / 2, records - 1] {
                let (_, _, record) = table.lookup(&mut client, index, &format!("{shape:?} {index}"));
                assert_eq!(record, table.row(index), "{shape:?}: {index}");
            }
        }
    }
}

#[test]
fn more_queries_than_a_pass_takes() {
    let table = Table::checked(literal([1, 700, 64], [27, 27, 12, 24]), bytes(700));
    let mut client = table.client("prepare");
    let mut rng = seeded("batch");
    let asked: Vec<(u64, Query, _)> = (0..11)
        .map(|i| {
            let index = i * 63 % 700;
            let (OneServer(query), pending) = client.query(RecordIndex(index), &mut rng).unwrap();
            (index, query, pending)
        })
        .collect();
    let queries = || asked.iter().map(|(_, query, _)| (&(), query.clone())).collect::<Vec<_>>();
    let answers = table.server.answer_many(queries());
    for (answer, (_, query)) in answers.iter().zip(queries()) {
        assert_eq!(answer.as_ref().unwrap(), &table.server.answer(&(), query).unwrap());
    }
    for (answer, (index, _, pending)) in answers.into_iter().zip(asked) {
        let record = client.recover(pending, OneServer(answer.unwrap())).unwrap();
        assert_eq!(record.bytes(), table.row(index));
    }
}

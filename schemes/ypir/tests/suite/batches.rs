//! Strangers in one pass get what each would have got alone, and records of all shapes come back.

use crate::setup::{Table, WIDEST, bytes, literal};
use sotto_core::{Client as _, OneServer, RecordIndex, Server as _};
use sotto_testkit::rng::seeded;
use sotto_ypir::message::Query;

#[test]
fn records_of_all_shapes_come_back() {
    // One record; widths whose last group is not full, in columns that are not; several ring blocks in either matrix.
    for (shape, byte) in
        [([1, 1, 1], 0x80), ([3, 75, 32], 0x7F), ([1, 9000, 2], 0x80), ([1, 5000, 4096], 0xFF)]
    {
        let [width, records, _] = shape;
        for fill in [bytes((width * records) as usize), vec![byte; (width * records) as usize]] {
            let table = Table::checked(literal(shape, WIDEST), fill);
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
    let table = Table::checked(literal([2, 700, 64], [27, 42, 46, 26, 19]), bytes(1400));
    let mut client = table.client("prepare");
    let mut rng = seeded("batch");
    let asked: Vec<(u64, Query, _)> = (0..6)
        .map(|i| {
            let index = i * 131 % 700;
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

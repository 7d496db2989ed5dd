//! One query for the sum of several records: number by number the sum of the records, whichever
//! they are, in a query that looks like one for a single record.

use super::subject::{Case, Fill, MIDDLE, NARROW, Subject, Table, WIDE};
use crate::rng::seeded;
use rand_core::Rng;
use sotto_core::{AnyClient, CryptoRng, Error, Misuse, Record, RecordIndex, Result};

/// A table whose sums wrap: the most negative bytes, and many records.
const WRAPPING: Case = Case { fill: Fill::Byte(0x80), ..LONG };
const LONG: Case = Case { rows: 3000, row_bytes: 31, fill: Fill::Random };

fn ask(
    table: &Table,
    client: &mut dyn AnyClient,
    (first, ones): (u64, u128),
    rng: &mut dyn CryptoRng,
) -> Result<Record> {
    let session = table.session(client);
    let sum = client.sum().expect("a client of a scheme with sums asks for them");
    let (queries, ticket) = sum.ask_sum(RecordIndex(first), ones, rng)?;
    client.recover(ticket, &table.answer(&session, &queries).expect("a client's own query is answered"))
}

/// Few and many records, scattered and consecutive, at both ends of the table and past the last;
/// and misuse.
pub fn come_back(subject: &Subject) {
    let unit = subject.entry.sum.expect("a scheme with sums says what is added up");
    for case in [NARROW, MIDDLE, WIDE, LONG, WRAPPING] {
        let table = subject.table(case);
        let rng = &mut seeded("sums");
        let mut client = table.client(rng);
        let records = table.report.records;
        let mut any = || u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
        let patterns = [0, 1, 1 << 127 | 1, u128::MAX, any(), any()];
        let firsts = [0, records / 3, records.saturating_sub(128), records - 1];
        for (i, pattern) in patterns.into_iter().enumerate() {
            for first in firsts.iter().cycle().skip(i).take(2).copied() {
                let record =
                    ask(&table, client.as_mut(), (first, pattern), rng).expect("an honest answer is read");
                let added = (0..128).filter(|i| pattern >> i & 1 == 1).map(|i| first + i);
                let added: Vec<&[u8]> =
                    added.take_while(|record| *record < records).map(|r| table.record(r)).collect();
                let bytes = table.report.record_bytes as usize;
                let number = |at: usize| {
                    let number = |record: &&[u8]| unit.number(&record[at..bytes.min(at + unit.bytes())]);
                    added.iter().map(number).fold(0, u16::wrapping_add)
                };
                let numbers = (0..bytes).step_by(unit.bytes());
                let mut want: Vec<u8> =
                    numbers.flat_map(|at| unit.bytes_of(number(at)).into_iter().take(unit.bytes())).collect();
                want.truncate(bytes);
                assert!(
                    record.bytes() == want,
                    "{case:?}: the sum of {pattern:x} from {first} on came back changed"
                );
            }
        }
        for past in [records, records + 1, u64::MAX] {
            match ask(&table, client.as_mut(), (past, 1), rng) {
                Err(Error::Misuse(Misuse::IndexPastEnd { index, len })) => {
                    assert_eq!((index, len), (past, records))
                }
                other => panic!("record {past} of {records} gave {:?}", other.map(|_| "a sum")),
            }
        }
    }
}

/// A query for a sum has the sizes of one for a record, and differs from another one for the same sum.
pub fn sizes(subject: &Subject) {
    let table = subject.table(MIDDLE);
    let rng = &mut seeded("sizes of sums");
    let mut client = table.client(rng);
    let session = table.session(client.as_ref());
    let single = client.query(RecordIndex(0), rng).unwrap().0;
    let mut sum = |ones| client.sum().unwrap().ask_sum(RecordIndex(0), ones, rng).unwrap().0;
    let (none, one, other) = (sum(0), sum(u128::MAX), sum(u128::MAX));
    for queries in [&single, &none, &one, &other] {
        assert_eq!(queries.len(), single.len(), "a query for each server");
        assert!(queries.iter().all(|query| query.len() as u64 == table.report.costs.query_bytes));
        let answers = table.answer(&session, queries).expect("a client's own query is answered");
        assert!(answers.iter().all(|answer| answer.len() as u64 == table.report.costs.answer_bytes));
    }
    let equal = one.iter().zip(&other).any(|(one, other)| one == other);
    assert_eq!(equal, !subject.private, "two queries for the same sum");
}

//! What refusals depend on, for schemes that declare that it is nothing that is looked up.

use super::subject::{MIDDLE, Subject, single};
use crate::memory::{MemoryRows, MemorySink};
use crate::rng::seeded;
use sotto_core::RecordIndex;
use std::sync::Arc;

/// One server answers from a table in which it altered every other record; artifacts are those of the
/// true table. A client whose only server that is refuses every answer, whichever record it looks up; one
/// of several servers refuses exactly if that server's answer to its own query is another one.
pub fn do_not_depend_on_the_record(subject: &Subject) {
    let (table, entry) = (subject.table(MIDDLE), subject.entry);
    let record_bytes = table.report.record_bytes as usize;
    let mut altered = table.records.bytes().to_vec();
    for record in altered.chunks_exact_mut(record_bytes).step_by(2) {
        for (at, byte) in record.iter_mut().enumerate() {
            *byte = byte.wrapping_add(1 + (at * 50 % 127) as u8);
        }
    }
    let sink = MemorySink::new();
    (entry.server.encode)(&table.params, &MemoryRows::new(record_bytes, altered), &sink).unwrap();
    let host = (entry.server.open)(&table.params, Arc::new(sink.into_image())).unwrap();
    let rng = &mut seeded("aborts");
    let mut client = table.client(rng);
    let session = table.session(client.as_ref());
    for server in 0..entry.query_servers {
        for record in table.some_records() {
            let (queries, pending) = client.query(RecordIndex(record), rng).unwrap();
            let mut answers = table.answer(&session, &queries).unwrap();
            let lie = single(host.as_ref(), &session, &queries[server]).unwrap();
            let differs = std::mem::replace(&mut answers[server], lie.clone()) != lie;
            let read = client.recover(pending, &answers);
            let is_refused = read.map_or(true, |read| read.bytes() != table.record(record));
            let expected = entry.query_servers == 1 || differs;
            assert_eq!(is_refused, expected, "server {server}: whether record {record} is refused");
        }
    }
}

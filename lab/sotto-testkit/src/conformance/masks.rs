//! Whitening, where a scheme has it: a table's own mask, and the count of writes.

use super::subject::{Case, MIDDLE, NARROW, Subject, Table, WIDE};
use crate::memory::{MemoryImage, MemorySink};
use crate::rng::seeded;
use sotto_core::{RecordIndex, Section, WhiteningEntry, WriteSlot};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

fn mask(subject: &Subject) -> WhiteningEntry {
    subject.entry.server.mask.unwrap()
}

/// The table under another mask.
fn under(table: &Table, params: &[u8]) -> MemoryImage {
    let sink = MemorySink::new();
    (table.entry.server.encode)(params, &table.records, &sink).expect("encoding in memory");
    sink.into_image()
}

fn resident(image: &MemoryImage) -> &[u8] {
    sotto_core::Image::section(image, Section::Resident).expect("an image has a table")
}

/// The same rows under two masks: other parameters, other bytes, and the same records with the
/// right parameters.
pub fn of_their_own(subject: &Subject) {
    for case in [NARROW, WIDE] {
        let table = subject.table(case);
        let seeds = [[1; 32], [2; 32]];
        let params = seeds.map(|seed| (mask(subject).with_seed)(&table.params, seed).unwrap());
        let digests = params.each_ref().map(|params| (subject.entry.report)(params).unwrap().digest);
        assert!(
            digests[0] != digests[1] && digests[0] != table.report.digest,
            "{case:?}: masks are of the parameters"
        );
        let images = params.each_ref().map(|params| under(&table, params));
        assert!(resident(&images[0]) != resident(&images[1]), "{case:?}");
        let again = (mask(subject).with_seed)(&params[1], seeds[0]).unwrap();
        assert!(again == params[0] && resident(&under(&table, &again)) == resident(&images[0]));

        let record = table.report.records - 1;
        let fetched = |params: &[u8]| {
            let rng = &mut seeded("masks of their own");
            let server = (subject.entry.server.open)(params, Arc::new(images[1].clone())).unwrap();
            let mut client = (subject.entry.prepare)(params, rng).unwrap().finish().unwrap();
            let session = server.admit(&client.keys()).unwrap();
            let (queries, ticket) = client.query(RecordIndex(record), rng).unwrap();
            let answer = server.answer_many(&[(&session, queries[0].as_slice())]).remove(0).unwrap();
            client.recover(ticket, &[answer]).unwrap().bytes().to_vec()
        };
        assert!(fetched(&params[1]) == table.record(record));
        assert!(fetched(&params[0]) != table.record(record), "{case:?}: a mask that does nothing");
    }
}

/// No column has more written places than it has places, and at most an eighth of them may be
/// written.
pub fn places(subject: &Subject) {
    for case in [NARROW, MIDDLE, Case { rows: 5000, ..MIDDLE }] {
        let table = subject.table(case);
        let records: Vec<u64> = (0..table.report.records).collect();
        let places = (mask(subject).places)(&table.params, &records).unwrap();
        assert_eq!(places.len(), records.len());
        let mut columns: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for WriteSlot { column, summand } in places {
            columns.entry(column).or_default().insert(summand);
        }
        let most = (mask(subject).max_writes)(&table.params).unwrap();
        let longest = columns.values().flatten().max().expect("a table has records") + 1;
        assert!(most <= longest.div_ceil(8).max(1), "{case:?}: {most} of {longest}");
    }
}

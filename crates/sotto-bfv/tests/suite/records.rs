//! How often bytes of an image are read to get records out of it: a plaintext has parts of many
//! records, and is decoded once for all that are requested together.

use crate::SCHEMES;
use sotto_core::{Image, Section};
use sotto_testkit::conformance::subject::{Case, Fill, Table};
use sotto_testkit::memory::MemoryImage;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An image that counts its reads.
struct Counted(MemoryImage, AtomicUsize);

impl Image for Counted {
    fn section(&self, section: Section) -> Option<&[u8]> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.section(section)
    }
}

#[test]
fn parts_of_all_records_cost_no_more_than_the_records_and_those_of_few_columns_less() {
    for entry in SCHEMES {
        // Records of several plaintexts, and many in the same.
        let table = Table::encode_buckets(entry, Case { rows: 200, row_bytes: 600, fill: Fill::Random }, 1);
        let image = Arc::new(Counted(table.image.clone(), AtomicUsize::new(0)));
        let records = (entry.server.records)(&table.params, image.clone()).unwrap();
        let (count, width) = (records.records(), records.record_bytes());
        let looks = |read: &dyn Fn()| {
            let before = image.1.load(Ordering::Relaxed);
            read();
            image.1.load(Ordering::Relaxed) - before
        };
        let whole = looks(&|| records.read(0, &mut vec![0; count as usize * width]).unwrap());
        let parts: Vec<(u64, u64)> = (0..count).map(|record| (record, width as u64 - 8)).collect();
        let of_all = looks(&|| records.read_parts(&parts, &mut vec![0; parts.len() * 8]).unwrap());
        let one = looks(&|| records.read_part(0, width as u64 - 8, &mut [0; 8]).unwrap());
        assert!(one > 0 && one <= of_all && of_all <= whole, "{}: {one}, {of_all}, {whole}", entry.id);
        let groups = whole / looks(&|| records.read(0, &mut vec![0; width]).unwrap());
        assert!(of_all <= one * groups, "{}: {one} for one, {of_all} for all in {groups}", entry.id);
    }
}

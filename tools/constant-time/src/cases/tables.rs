//! Rows in records, and bits in rows.

use super::Case;
use crate::secret::{bytes_of, hidden, shown};
use sotto_catalog::{Bit, Packing};
use sotto_core::{Record, RecordIndex};

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("packing/narrow", || row(Packing::new(100, 7, 5, 150))),
        Case::new("packing/wide", || row(Packing::new(10, 40, 30, 16))),
        Case::new("bit/of", bit),
    ]
}

/// A row's records, and the row out of them.
fn row(packing: sotto_core::Result<Packing>) {
    let packing = packing.expect("rows that fit");
    let wide = packing.record_bytes() as usize;
    for row in [0, 8, packing.rows() - 1] {
        let records = packing.records_of(hidden(row));
        let records: Vec<Record> = records
            .into_iter()
            .map(|RecordIndex(record)| {
                let record = shown(record);
                Record::new((0..wide).map(|at| hidden(record as u8 ^ at as u8)).collect())
            })
            .collect();
        let got = Record::new(packing.extract(hidden(row), &records).expect("a row that there is"));
        let places = packing.places(row).expect("a row that there is");
        let want = places.iter().flat_map(|place| {
            (place.offset as u8..).take(place.bytes.len()).map(|at| place.record as u8 ^ at)
        });
        assert!(bytes_of(&got).into_iter().eq(want), "row {row}");
    }
}

fn bit() {
    let bit = Bit::locate(hidden(19), 4, 2).expect("a bit of the table");
    assert!(shown(bit.row()) == 1);
    assert!(shown(bit.of(&hidden([0b1000, 0]))));
}

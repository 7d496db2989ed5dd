//! Rows in records, and bits in rows.

use super::Case;
use crate::secret::{bytes_of, hidden, shown};
use crate::trial::{pick, timed};
use sotto_catalog::{Bit, Packing};
use sotto_core::{Record, RecordIndex};

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("packing/narrow", 3, || row(Packing::new(100, 7, 5, 150))),
        Case::new("packing/wide", 3, || row(Packing::new(10, 40, 30, 16))),
        Case::new("bit/of", 1, || |_| bit()),
    ]
}

/// A row's records, and the row out of them.
fn row(packing: sotto_core::Result<Packing>) -> impl FnMut(usize) {
    let packing = packing.expect("rows that fit");
    let wide = packing.record_bytes() as usize;
    move |round| {
        let row = pick([0, 8, packing.rows() - 1][round], packing.rows());
        let records: Vec<Record> = timed(|| packing.records_of(hidden(row)))
            .into_iter()
            .map(|RecordIndex(record)| {
                let record = shown(record);
                Record::new((0..wide).map(|at| hidden(record as u8 ^ at as u8)).collect())
            })
            .collect();
        let extracted = timed(|| packing.extract(hidden(row), &records));
        let got = Record::new(extracted.expect("a row that there is"));
        let places = packing.places(row).expect("a row that there is");
        let want = places.iter().flat_map(|place| {
            (place.offset as u8..).take(place.bytes.len()).map(|at| place.record as u8 ^ at)
        });
        assert!(bytes_of(&got).into_iter().eq(want), "row {row}");
    }
}

fn bit() {
    let at = pick(19, 32);
    let bit = timed(|| Bit::locate(hidden(at), 4, 2)).expect("a bit of the table");
    let row = shown(bit.row());
    // Bits of a row count from the low end of its first byte.
    let within = at % 16;
    assert!(row == at / 16);
    let bytes = (1u16 << within).to_le_bytes();
    assert!(shown(timed(|| bit.of(&hidden(bytes)))));
}

//! YPIR from outside: noise, refusals, shapes, known answers.
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test"
)]

mod noise;
mod refusals;
mod setup;

/// These bytes are the format, and may never change under the id `ypir/1`.
#[test]
fn known_answers() {
    sotto_testkit::vectors::known_answers(&sotto_ypir::ENTRY, include_str!("../../vectors/ypir-1.json"));
}

#[test]
fn records_of_all_shapes_come_back() {
    // One record; widths whose last group is not full, in columns that are not; several ring blocks in either matrix.
    for (shape, byte) in
        [([1, 1, 1], 0x80), ([3, 75, 32], 0x7F), ([1, 9000, 2], 0x80), ([1, 5000, 4096], 0xFF)]
    {
        let size = (shape[0] * shape[1]) as usize;
        for fill in [setup::bytes(size), vec![byte; size]] {
            let table = setup::Table::checked(setup::literal(shape, setup::WIDEST), fill);
            table.come_back(&format!("{shape:?}"));
        }
    }
}

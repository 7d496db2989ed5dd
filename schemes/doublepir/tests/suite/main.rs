//! DoublePIR from outside: noise, refusals, shapes, known answers.
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

/// These bytes are the format, and may never change under the id `doublepir/1`.
#[test]
fn known_answers() {
    let file = include_str!("../../vectors/doublepir-1.json");
    sotto_testkit::vectors::known_answers(&sotto_doublepir::ENTRY, file);
}

#[test]
fn records_of_all_shapes_come_back() {
    // One record; a column that is not full; a width that divides no panel; several ring blocks in either matrix.
    for shape in [[1, 1, 1], [1, 100, 16], [3, 75, 32], [7, 40, 8], [64, 9, 2], [1, 9000, 2], [2, 5000, 2048]]
    {
        let size = (shape[0] * shape[1]) as usize;
        for fill in [setup::bytes(size), vec![0x80; size], vec![0x7F; size]] {
            let table = setup::Table::checked(setup::literal(shape, setup::WIDEST), fill);
            table.come_back(&format!("{shape:?}"));
        }
    }
}

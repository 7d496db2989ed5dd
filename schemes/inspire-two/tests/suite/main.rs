//! InsPIRe^(2) from outside: noise, refusals, known answers.
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

/// These bytes are the format, and may never change under the id `inspire-two/1`.
#[test]
fn known_answers() {
    let file = include_str!("../../vectors/inspire-two-1.json");
    sotto_testkit::vectors::known_answers(&sotto_inspire_two::ENTRY, file);
}

/// Records of even and odd sizes, a grid that is not full, one and several packed ciphertexts of bodies.
#[test]
fn records_of_all_shapes_come_back() {
    for sizes in [[5, 23, 4], [1, 3, 1], [1500, 9, 2]] {
        let literal = setup::literal(sizes, [45, 45], 46, [26, 20], [28, 19]);
        let rows = setup::bytes((sizes[0] * sizes[1]) as usize);
        setup::Table::checked(literal, rows).come_back(&format!("{sizes:?}"));
    }
}

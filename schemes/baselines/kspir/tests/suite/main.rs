//! KsPIR from outside: noise, refusals, known answers.
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

/// These bytes are the format, and may never change under the id `kspir/1`.
#[test]
fn known_answers() {
    sotto_testkit::vectors::known_answers(&sotto_kspir::ENTRY, include_str!("../../vectors/kspir-1.json"));
}

//! InsPIRe from outside: noise, refusals, updates, known answers.
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
mod updates;

/// These bytes are the format, and may never change under the id `inspire/1`.
#[test]
fn known_answers() {
    let file = include_str!("../../vectors/inspire-1.json");
    sotto_testkit::vectors::known_answers(&sotto_inspire::ENTRY, file);
}

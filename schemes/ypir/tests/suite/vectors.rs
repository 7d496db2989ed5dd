//! Known answers: these bytes are the format, and may never change under the id `ypir/1`.

#[test]
fn known_answers() {
    sotto_testkit::vectors::known_answers(&sotto_ypir::ENTRY, include_str!("../../vectors/ypir-1.json"));
}

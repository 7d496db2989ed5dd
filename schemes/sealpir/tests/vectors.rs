//! Known answers: these bytes are the format, and may never change under the id `sealpir/1`.

#[test]
fn known_answers() {
    sotto_testkit::vectors::known_answers(&sotto_sealpir::ENTRY, include_str!("../vectors/sealpir-1.json"));
}

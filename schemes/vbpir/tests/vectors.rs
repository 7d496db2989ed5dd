//! Known answers: these bytes are the format, and may never change under the id `vbpir/1`.

#[test]
fn known_answers() {
    sotto_testkit::vectors::known_answers(&sotto_vbpir::ENTRY, include_str!("../vectors/vbpir-1.json"));
}

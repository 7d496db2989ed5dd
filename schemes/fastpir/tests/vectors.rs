//! Known answers: these bytes are the format, and may never change under the id `fastpir/1`.

#[test]
fn known_answers() {
    sotto_testkit::vectors::known_answers(&sotto_fastpir::ENTRY, include_str!("../vectors/fastpir-1.json"));
}

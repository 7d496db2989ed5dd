//! Known answers: these bytes are the format, and may never change under the id `bgvpir/1`.

#[test]
fn known_answers() {
    sotto_testkit::vectors::known_answers(&sotto_bgvpir::ENTRY, include_str!("../../vectors/bgvpir-1.json"));
}

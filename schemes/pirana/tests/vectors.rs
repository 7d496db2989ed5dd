//! Known answers: these bytes are the format, and may never change under the id `pirana/1`.

#[test]
fn known_answers() {
    sotto_testkit::vectors::known_answers(&sotto_pirana::ENTRY, include_str!("../vectors/pirana-1.json"));
}

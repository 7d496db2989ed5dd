//! Known answers: these bytes are the format, and may never change under the id `piano/1`.

#[test]
fn known_answers() {
    sotto_testkit::vectors::known_hints(&sotto_piano::ENTRY, include_str!("../vectors/piano-1.json"));
}

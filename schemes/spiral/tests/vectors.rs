//! Known answers: these bytes are the format, and may never change under the id `spiral/1`.

#[test]
fn known_answers() {
    sotto_testkit::vectors::known_answers(&sotto_spiral::ENTRY, include_str!("../vectors/spiral-1.json"));
}

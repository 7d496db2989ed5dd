//! Known answers: these bytes are the format, and may never change under the ids `s3pir/1` and `s3pir-two/1`.

use sotto_testkit::vectors::known_hints;

#[test]
fn known_answers() {
    known_hints(&sotto_s3pir::ENTRY, include_str!("../vectors/s3pir-1.json"));
}

#[test]
fn known_answers_of_two_servers() {
    known_hints(&sotto_s3pir::TWO, include_str!("../vectors/s3pir-two-1.json"));
}

//! Known answers: these bytes are the format, and may never change under the id `inspire/1`.

#[test]
fn known_answers() {
    sotto_testkit::vectors::known_answers(
        &sotto_inspire::ENTRY,
        include_str!("../../vectors/inspire-1.json"),
    );
}

//! Known answers: these bytes are the format, and may never change under the id `inspire-two/1`.

#[test]
fn known_answers() {
    sotto_testkit::vectors::known_answers(
        &sotto_inspire_two::ENTRY,
        include_str!("../../vectors/inspire-two-1.json"),
    );
}

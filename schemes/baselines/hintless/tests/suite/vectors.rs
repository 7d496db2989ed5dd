//! Known answers: these bytes are the format, and may never change under the id `hintless/1`.

#[test]
fn known_answers() {
    sotto_testkit::vectors::known_answers(
        &sotto_hintless::ENTRY,
        include_str!("../../vectors/hintless-1.json"),
    );
}

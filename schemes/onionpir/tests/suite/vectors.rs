//! Known answers: these bytes are the format, and may never change under the id `onionpir/1`.

#[test]
fn known_answers() {
    sotto_testkit::vectors::known_answers(
        &sotto_onionpir::ENTRY,
        include_str!("../../vectors/onionpir-1.json"),
    );
}

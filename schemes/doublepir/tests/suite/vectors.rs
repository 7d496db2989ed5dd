//! Known answers: these bytes are the format, and may never change under the id `doublepir/1`.

#[test]
fn known_answers() {
    sotto_testkit::vectors::known_answers(
        &sotto_doublepir::ENTRY,
        include_str!("../../vectors/doublepir-1.json"),
    );
}

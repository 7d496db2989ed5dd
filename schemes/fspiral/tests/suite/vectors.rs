//! Known answers: these bytes are the format, and may never change under the id `fspiral/1`.

#[test]
fn known_answers() {
    sotto_testkit::vectors::known_answers(
        &sotto_fspiral::ENTRY,
        include_str!("../../vectors/fspiral-1.json"),
    );
}

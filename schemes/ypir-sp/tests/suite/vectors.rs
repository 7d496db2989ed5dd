//! Known answers: these bytes are the format, and may never change under the id `ypir-sp/1`.

#[test]
fn known_answers() {
    sotto_testkit::vectors::known_answers(
        &sotto_ypir_sp::ENTRY,
        include_str!("../../vectors/ypir-sp-1.json"),
    );
}

//! Known answers: these bytes are the format, and may never change under the id `lp-treepir/1`.

#[test]
fn known_answers() {
    sotto_testkit::vectors::known_hints(
        &sotto_lp_treepir::ENTRY,
        include_str!("../vectors/lp-treepir-1.json"),
    );
}

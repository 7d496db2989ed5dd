//! Known answers: these bytes are the format, and may never change under the id `kspir/1`.

#[test]
fn known_answers() {
    sotto_testkit::vectors::known_answers(&sotto_kspir::ENTRY, include_str!("../../vectors/kspir-1.json"));
}

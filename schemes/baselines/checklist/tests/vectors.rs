//! Known answers: these bytes are the format, and may never change under the id `checklist/1`.

#[test]
fn known_answers() {
    sotto_testkit::vectors::known_hints(&sotto_checklist::ENTRY, include_str!("../vectors/checklist-1.json"));
}

//! Each target has its wrapper, and each wrapper its target.

use sotto_fuzz::TARGETS;
use std::fs;

#[test]
fn every_target_is_wrapped_for_libfuzzer() {
    let home = env!("CARGO_MANIFEST_DIR");
    let manifest = fs::read_to_string(format!("{home}/Cargo.toml")).unwrap();
    for target in TARGETS {
        let wrapper = fs::read_to_string(format!("{home}/fuzz_targets/{}.rs", target.name)).unwrap();
        assert!(wrapper.contains(&format!("::{}(data)", target.name)), "{}", target.name);
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{}.rs\"", target.name)), "{}", target.name);
    }
    assert_eq!(fs::read_dir(format!("{home}/fuzz_targets")).unwrap().count(), TARGETS.len());
}

//! Every target for libFuzzer, in one program: `SOTTO_FUZZ_TARGET` says which one, and
//! `SOTTO_FUZZ_SEEDS` in which folder its seeds are written first. `make fuzz` and
//! `lab/fuzz/campaign` set them.
#![no_main]

use sotto_fuzz::{TARGETS, Target};
use std::sync::LazyLock;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("SOTTO_FUZZ_TARGET").unwrap_or_default();
    TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| {
        let known: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("SOTTO_FUZZ_TARGET={name} is no target; there are {}", known.join(", "));
        std::process::exit(2)
    })
});

libfuzzer_sys::fuzz_target!(
    init: {
        let folder = std::env::var("SOTTO_FUZZ_SEEDS").unwrap_or_default();
        if !folder.is_empty() {
            for seed in (TARGET.seeds)().into_iter().chain(TARGET.kept()) {
                let name = blake3::hash(&seed).to_hex();
                std::fs::write(std::path::Path::new(&folder).join(name.as_str()), seed).unwrap();
            }
        }
    },
    |data: &[u8]| {
        (TARGET.run)(data);
    }
);

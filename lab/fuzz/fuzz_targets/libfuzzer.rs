//! Every target for libFuzzer, in one program: `SOTTO_FUZZ_TARGET` says which one, and
//! `SOTTO_FUZZ_SEEDS` in which folder its seeds are written first. `make fuzz` and
//! `lab/fuzz/campaign` set them.
#![no_main]

use sotto_fuzz::{TARGETS, Target};
use std::path::Path;
use std::sync::LazyLock;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("SOTTO_FUZZ_TARGET").unwrap_or_default();
    TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| {
        let known: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("SOTTO_FUZZ_TARGET={name} is no target; there are {}", known.join(", "));
        std::process::exit(2)
    })
});

/// Writes the target's seeds, and the inputs that were kept, into a folder, each under its digest.
fn write_seeds(folder: &Path) -> Result<(), String> {
    if folder.as_os_str().is_empty() {
        return Ok(());
    }
    for seed in (TARGET.seeds)().into_iter().chain(TARGET.kept()?) {
        let file = folder.join(blake3::hash(&seed).to_hex().as_str());
        std::fs::write(&file, seed).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

libfuzzer_sys::fuzz_target!(
    init: {
        let folder = std::env::var("SOTTO_FUZZ_SEEDS").unwrap_or_default();
        if let Err(why) = write_seeds(Path::new(&folder)) {
            eprintln!("{why}");
            std::process::exit(2);
        }
    },
    |data: &[u8]| {
        (TARGET.run)(data);
    }
);

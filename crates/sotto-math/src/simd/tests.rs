use super::*;

#[test]
fn scalar_is_always_available_and_names_are_distinct() {
    let names: Vec<_> = available().map(|k| k.name()).collect();
    assert_eq!(names.last(), Some(&"scalar"));
    let distinct: std::collections::HashSet<_> = names.iter().collect();
    assert_eq!(distinct.len(), names.len());
}

/// Prints the line that `make test` repeats at its end: a successful run says nothing about kernels
/// that this processor cannot run.
#[test]
fn tested_backends_are_printed() {
    let all: &[&str] = if cfg!(target_arch = "x86_64") {
        &["amx", "avx512", "avxvnni", "avx2", "scalar"]
    } else if cfg!(target_arch = "aarch64") {
        &["neondot", "neon", "scalar"]
    } else if cfg!(target_feature = "simd128") {
        &["simd128", "scalar"]
    } else {
        &["scalar"]
    };
    assert_eq!(all.len(), BACKENDS.len(), "every backend has its name here");
    let mut tested: Vec<_> = available().map(|k| k.name()).collect();
    let by_emulator = emulated().map_or("", |_| " (by an emulator)");
    tested.extend(emulated().map(|k| k.name()));
    let missing: Vec<_> = all.iter().copied().filter(|name| !tested.contains(name)).collect();
    let missing = match missing.as_slice() {
        [] => "none is left out".to_owned(),
        names => format!("not {}, which this processor cannot run", names.join(", ")),
    };
    // Written past the capture of tests.
    let line = format!("kernels tested: {}{by_emulator}; {missing}\n", tested.join(", "));
    std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes()).unwrap();
}

#[test]
fn a_forced_backend_is_the_one_in_use() {
    let forced = std::env::var("SOTTO_SIMD").unwrap_or_default();
    let best = available().next().map(|k| k.name());
    let expected = available().map(|k| k.name()).find(|name| *name == forced).or(best);
    assert_eq!(Some(kernels().name()), expected);
}

#[test]
fn reading_gives_the_checksum_of_all_bytes() {
    let bytes: Vec<u8> = (0..20_000u32).map(|i| (i.wrapping_mul(2654435761) >> 13) as u8).collect();
    for (from, to) in
        [(0, 0), (0, 1), (3, 10), (0, 63), (1, 64 + 1), (5, 4096 + 300), (0, 20_000), (7, 19_999)]
    {
        let bytes = &bytes[from..to];
        let mut expected = [0u8; 8];
        bytes.iter().enumerate().for_each(|(i, b)| expected[i % 8] ^= b);
        for k in available() {
            assert_eq!(k.read(bytes), u64::from_le_bytes(expected), "{} bytes by {}", bytes.len(), k.name());
        }
    }
}

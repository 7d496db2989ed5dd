//! `sotto_fuzz::catalog::signing_key` for libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    sotto_fuzz::catalog::signing_key(data);
});

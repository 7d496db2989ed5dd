//! `sotto_fuzz::catalog::signed_stack` for libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    sotto_fuzz::catalog::signed_stack(data);
});

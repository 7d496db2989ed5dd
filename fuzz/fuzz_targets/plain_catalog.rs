//! `sotto_fuzz::catalog::plain_catalog` for libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    sotto_fuzz::catalog::plain_catalog(data);
});

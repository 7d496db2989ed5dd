//! `sotto_fuzz::keys::kept_rows` for libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    sotto_fuzz::keys::kept_rows(data);
});

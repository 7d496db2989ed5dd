//! `sotto_fuzz::keys::update_keys` for libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    sotto_fuzz::keys::update_keys(data);
});

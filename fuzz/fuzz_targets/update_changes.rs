//! `sotto_fuzz::ingest::update_changes` for libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    sotto_fuzz::ingest::update_changes(data);
});

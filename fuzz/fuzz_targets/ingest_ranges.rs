//! `sotto_fuzz::ingest::ingest_ranges` for libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    sotto_fuzz::ingest::ingest_ranges(data);
});

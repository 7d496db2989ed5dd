//! `sotto_fuzz::ingest::ingest_compressed` for libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    sotto_fuzz::ingest::ingest_compressed(data);
});

//! `sotto_fuzz::tlog::log_proof` for libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    sotto_fuzz::tlog::log_proof(data);
});

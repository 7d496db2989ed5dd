//! `sotto_fuzz::oprf::oprf_key` for libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    sotto_fuzz::oprf::oprf_key(data);
});

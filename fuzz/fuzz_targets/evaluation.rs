//! `sotto_fuzz::wire::evaluation` for libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    sotto_fuzz::wire::evaluation(data);
});

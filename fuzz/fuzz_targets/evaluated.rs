//! `sotto_fuzz::wire::evaluated` for libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    sotto_fuzz::wire::evaluated(data);
});

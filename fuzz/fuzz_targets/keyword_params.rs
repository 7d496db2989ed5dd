//! `sotto_fuzz::layers::keyword_params` for libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    sotto_fuzz::layers::keyword_params(data);
});

//! `sotto_fuzz::layers::pbc_params` for libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    sotto_fuzz::layers::pbc_params(data);
});

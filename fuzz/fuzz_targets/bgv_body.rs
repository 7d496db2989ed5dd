//! `sotto_fuzz::lattice::bgv_body` for libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    sotto_fuzz::lattice::bgv_body(data);
});

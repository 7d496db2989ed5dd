//! `sotto_fuzz::oprf::masked_row` for libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    sotto_fuzz::oprf::masked_row(data);
});

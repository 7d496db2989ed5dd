//! `sotto_fuzz::upkeep::scheme_order` for libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    sotto_fuzz::upkeep::scheme_order(data);
});

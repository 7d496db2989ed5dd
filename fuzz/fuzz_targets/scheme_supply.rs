//! `sotto_fuzz::upkeep::scheme_supply` for libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    sotto_fuzz::upkeep::scheme_supply(data);
});

//! `sotto_fuzz::state::state_pass` for libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    sotto_fuzz::state::state_pass(data);
});

//! `sotto_fuzz::tlog::log_checkpoint` for libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    sotto_fuzz::tlog::log_checkpoint(data);
});

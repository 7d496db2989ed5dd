//! `sotto_fuzz::text::server_config` for libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    sotto_fuzz::text::server_config(data);
});

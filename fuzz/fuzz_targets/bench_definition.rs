//! `sotto_fuzz::text::bench_definition` for libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    sotto_fuzz::text::bench_definition(data);
});

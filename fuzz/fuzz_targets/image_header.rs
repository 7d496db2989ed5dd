//! `sotto_fuzz::image::image_header` for libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    sotto_fuzz::image::image_header(data);
});

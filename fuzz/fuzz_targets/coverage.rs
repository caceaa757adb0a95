#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| drop(fuzz::measured::coverage(data)));

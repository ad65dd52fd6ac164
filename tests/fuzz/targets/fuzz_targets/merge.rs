#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| sms_fuzz::merge::check(input));

//! Any bytes with any secrets in them, in any pieces.
//!
//! The laws: no byte of a value is left, what has no secret is the same, where pieces end does not matter, masking twice is
//! masking once, and what is kept back has a bound.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use toolwright_mask::{Counts, Mask, Secret};

const BEGINNINGS: [&str; 6] =
    ["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", "eyJ", "-----BEGIN PRIVATE KEY-----\n", "AKIA", "sk-ant-", "glpat-"];

fuzz_target!(|data: (Vec<Vec<u8>>, Vec<(u8, Vec<u8>)>, u16, bool)| {
    let (values, parts, size, formats) = data;
    // A name in brackets would be a part of a value with brackets.
    let is_plain = |value: &&Vec<u8>| {
        value.trim_ascii().len() >= 8 && value.len() < 400 && !value.iter().any(|byte| b"[]\n".contains(byte))
    };
    let values: Vec<&[u8]> = values.iter().filter(is_plain).map(|value| value.trim_ascii()).take(6).collect();
    let mut text = Vec::new();
    for (kind, bytes) in &parts {
        text.extend_from_slice(bytes);
        match usize::from(*kind) {
            index if index < BEGINNINGS.len() => text.extend_from_slice(BEGINNINGS[index].as_bytes()),
            index => text.extend_from_slice(values.get(index - BEGINNINGS.len()).copied().unwrap_or_default()),
        }
    }
    let secrets: Vec<_> = values.iter().map(|value| Secret::given("S", value)).collect();
    let Some(mask) = Mask::new(&secrets, formats).map(Arc::new) else { return };
    let masked = mask.masked(&text, &mut Counts::default()).into_owned();
    let (mut masker, mut streamed) = (mask.stream(), Vec::new());
    let size = usize::from(size) + 1;
    for piece in text.chunks(size) {
        masker.push(piece, &mut streamed);
        assert!(masker.held() <= (34 << 10) + size);
    }
    masker.finish(&mut streamed);
    assert!(streamed == masked, "where pieces end matters");
    for value in &values {
        assert!(!masked.windows(value.len()).any(|window| window == *value), "a value is left");
    }
    assert!(*mask.masked(&masked, &mut Counts::default()) == *masked, "masking twice is more than once");
});

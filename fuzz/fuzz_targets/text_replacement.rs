//! No replacement makes the engine panic, and no result is longer than the limit.
//!
//! The first six bytes of the input say where the file ends, the old text ends and the new one begins, and
//! what the limit is.

#![no_main]

use libfuzzer_sys::fuzz_target;
use toolwright_patch::{ReplaceError, replace};

fuzz_target!(|data: &[u8]| {
    let Some((&[a, b, c, d, e, f], rest)) = data.split_first_chunk() else { return };
    let number = |low, high| usize::from(u16::from_le_bytes([low, high]));
    let (file, rest) = rest.split_at(number(a, b) % (rest.len() + 1));
    let (old, new) = rest.split_at(number(c, d) % (rest.len() + 1));
    let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
    // A long text for many places, as models write them.
    let new = new.repeat(1 + number(e, f) % 64);
    let limit = (number(e, f) * 16) as u64;
    for all in [false, true] {
        match replace(file, &old, &new, all, limit) {
            Ok(replaced) => {
                assert!(replaced.bytes.len() as u64 <= limit);
                assert!(replaced.replacements > 0 && (all || replaced.replacements == 1));
            }
            Err(ReplaceError::TooLarge { bytes, limit: max }) => {
                assert!(bytes > max && max == limit)
            }
            Err(error) => {
                assert!(error.to_string().len() <= 2_000, "{error}");
            }
        }
    }
});

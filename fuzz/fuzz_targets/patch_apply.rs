//! No patch makes the engine panic, take long, or speak at length, whatever the file holds.
//!
//! The first two bytes of the input say where the file ends and the patch begins.

#![no_main]

use libfuzzer_sys::fuzz_target;
use toolwright_patch::apply;

fuzz_target!(|data: &[u8]| {
    let Some((&[low, high], rest)) = data.split_first_chunk() else { return };
    let at = usize::from(u16::from_le_bytes([low, high])) % (rest.len() + 1);
    let (file, patch) = rest.split_at(at);
    let patch = String::from_utf8_lossy(patch);
    match apply(file, &patch) {
        Ok(applied) => {
            assert!(applied.hunks > 0);
            assert!(applied.bytes.len() <= file.len() + 2 * patch.len() + 2);
            if std::str::from_utf8(file).is_ok() {
                assert!(std::str::from_utf8(&applied.bytes).is_ok(), "an edit broke the encoding");
            }
            // A line that is neither removed nor added keeps its bytes, so nothing but the patch
            // can bring in a byte that the file does not have.
            let known = |byte: &u8| {
                file.contains(byte) || patch.as_bytes().contains(byte) || b"\r\n".contains(byte)
            };
            assert!(applied.bytes.iter().all(known));
        }
        Err(error) => {
            assert!(error.to_string().len() <= 1_500, "{error}");
            assert!(!error.hint().is_empty() && error.hint().len() <= 500);
            assert!(!error.details().is_empty());
        }
    }
});

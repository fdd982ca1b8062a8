//! No patch makes the engine panic, take long, or speak at length, whatever the file holds.
//!
//! The first two bytes of the input say where the file ends and the patch begins.

#![no_main]

use std::collections::HashSet;

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
            // Every line is one of the file or one of the patch, never two in one.
            // Which of several carriage returns is text and which the ending is not the point here.
            let bare = |line: &[u8]| -> Vec<u8> {
                let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
                let end = line.iter().rposition(|&byte| byte != b'\r').map_or(0, |last| last + 1);
                line[..end].to_vec()
            };
            let added = patch.split('\n').filter_map(|line| line.strip_prefix('+'));
            let known: HashSet<Vec<u8>> = file
                .split(|&byte| byte == b'\n')
                .chain(added.map(str::as_bytes))
                .map(bare)
                .chain([Vec::new()])
                .collect();
            for line in applied.bytes.split(|&byte| byte == b'\n') {
                assert!(known.contains(&bare(line)), "{:?}", String::from_utf8_lossy(line));
            }
        }
        Err(error) => {
            assert!(error.to_string().len() <= 1_500, "{error}");
            assert!(!error.details().is_empty());
        }
    }
});

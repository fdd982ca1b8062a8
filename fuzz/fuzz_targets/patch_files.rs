//! No patch for several files and no headerless diff makes the engine panic, take long, or speak at
//! length, whatever the file holds. No path has two roles, and nothing is made up.
//!
//! The first two bytes of the input say where the file ends and the patch begins.

#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use toolwright_patch::{DiffMode, FileChange, PatchError, apply_diff, parse_patch};

fuzz_target!(|data: &[u8]| {
    let Some((&[low, high], rest)) = data.split_first_chunk() else { return };
    let at = usize::from(u16::from_le_bytes([low, high])) % (rest.len() + 1);
    let (file, patch) = rest.split_at(at);
    let patch = String::from_utf8_lossy(patch);
    match parse_patch(&patch) {
        Ok(files) => {
            assert!(!files.is_empty());
            let mut paths = HashSet::new();
            for file_patch in &files {
                assert!(paths.insert(file_patch.path.clone()), "{}", file_patch.path);
                if let FileChange::Update { move_to: Some(target) } = &file_patch.change {
                    assert!(paths.insert(target.clone()), "{target}");
                }
                match file_patch.apply(file) {
                    Ok(new) => check_bytes(file, &patch, &new.bytes),
                    Err(error) => check_error(&error),
                }
            }
        }
        Err(error) => check_error(&error),
    }
    for mode in [DiffMode::Update, DiffMode::Create] {
        match apply_diff(file, &patch, mode) {
            Ok(new) => check_bytes(file, &patch, &new.bytes),
            Err(error) => check_error(&error),
        }
    }
});

fn check_error(error: &PatchError) {
    assert!(error.to_string().len() <= 1_500, "{error}");
    assert!(!error.details().is_empty());
}

fn check_bytes(file: &[u8], patch: &str, new: &[u8]) {
    // Each added line may get a carriage return.
    assert!(new.len() <= file.len() + 2 * patch.len() + 2);
    if std::str::from_utf8(file).is_ok() {
        assert!(std::str::from_utf8(new).is_ok(), "an edit broke the encoding");
    }
    // Every line is one of the file or one of the patch, never two in one.
    let bare = |line: &[u8]| -> Vec<u8> {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        let end = line.iter().rposition(|&byte| byte != b'\r').map_or(0, |last| last + 1);
        line[..end].to_vec()
    };
    let patch = patch.strip_prefix('\u{feff}').unwrap_or(patch);
    let added = patch.split('\n').filter_map(|line| line.strip_prefix('+'));
    let known: HashSet<Vec<u8>> = file
        .split(|&byte| byte == b'\n')
        .chain(added.map(str::as_bytes))
        .map(bare)
        .chain([Vec::new()])
        .collect();
    for line in new.split(|&byte| byte == b'\n') {
        assert!(known.contains(&bare(line)), "{:?}", String::from_utf8_lossy(line));
    }
}

//! One test for each rule of patches over several files, and of headerless diffs.

#![expect(clippy::unwrap_used, reason = "a test that panics is a test that fails")]

mod anchors;
mod decorations;
mod envelope;
mod laws;
mod paths;
mod unified;

use toolwright_patch::{
    Detail, DiffMode, FileChange, FilePatch, PatchError, apply_diff, parse_patch,
};

fn begun(body: &str) -> String {
    format!("*** Begin Patch\n{body}*** End Patch\n")
}

fn parsed(patch: &str) -> Vec<FilePatch<'_>> {
    parse_patch(patch).unwrap_or_else(|error| panic!("{error}\n{patch}"))
}

/// Path and change of every file.
fn changes(patch: &str) -> Vec<(String, FileChange)> {
    parsed(patch).into_iter().map(|file| (file.path, file.change)).collect()
}

fn created(path: &str, content: &str) -> (String, FileChange) {
    (path.to_owned(), FileChange::Create { content: content.to_owned() })
}

fn updated(path: &str) -> (String, FileChange) {
    (path.to_owned(), FileChange::Update { move_to: None })
}

fn moved(path: &str, target: &str) -> (String, FileChange) {
    (path.to_owned(), FileChange::Update { move_to: Some(target.to_owned()) })
}

fn deleted(path: &str) -> (String, FileChange) {
    (path.to_owned(), FileChange::Delete)
}

/// The text of the only file of `patch`, once it is applied to `old`.
fn applied(old: &str, patch: &str) -> String {
    let [file] = parsed(patch).try_into().unwrap();
    match file.apply(old.as_bytes()) {
        Ok(new) => String::from_utf8(new.bytes).unwrap(),
        Err(error) => panic!("{error}\n{patch}"),
    }
}

fn reason(error: &PatchError) -> String {
    match error.details().into_iter().find(|(name, _)| *name == "reason") {
        Some((_, Detail::Text(reason))) => reason,
        other => panic!("no reason: {other:?}"),
    }
}

/// Why a patch is refused before any file is read.
fn unread(patch: &str) -> String {
    match parse_patch(patch) {
        Ok(files) => panic!("{files:?}\n{patch}"),
        Err(error) => reason(&error),
    }
}

fn diffed(old: &str, diff: &str) -> Result<String, String> {
    apply_diff(old.as_bytes(), diff, DiffMode::Update)
        .map(|new| String::from_utf8(new.bytes).unwrap())
        .map_err(|error| reason(&error))
}

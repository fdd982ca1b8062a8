//! Files that a patch names more than once, or that cannot exist together.

use std::collections::HashMap;

use crate::error::PatchError;
use crate::files::{FileChange, FilePatch};
use crate::files_error::FilesError;

/// The most sections that are joined, because each of them is a pass over the whole file.
const MAX_SECTIONS: usize = 100;

/// Joins sections that update the same file one after another, and refuses every other patch in
/// which a path has two roles. Such a patch means one thing if its sections are applied in their
/// order, and another if they are applied at once.
pub(crate) fn merge(files: Vec<FilePatch<'_>>) -> Result<Vec<FilePatch<'_>>, PatchError> {
    let mut merged: Vec<FilePatch<'_>> = Vec::with_capacity(files.len());
    let mut updated: HashMap<String, usize> = HashMap::new();
    for file in files {
        let key = plain(&file.path);
        let before = updated.get(&key).and_then(|&at| merged.get_mut(at));
        match (before, file) {
            (Some(before), file) if follows(&file, before) => join(before, file),
            (_, file) => {
                if matches!(file.change, FileChange::Update { .. }) {
                    updated.insert(key, merged.len());
                }
                merged.push(file);
            }
        }
    }
    refuse_conflicts(&merged)?;
    Ok(merged)
}

/// Whether `file` can be joined with `before`, an earlier update of the same file.
fn follows(file: &FilePatch<'_>, before: &FilePatch<'_>) -> bool {
    matches!(file.change, FileChange::Update { .. })
        && before.change == (FileChange::Update { move_to: None })
        && before.patches.len() < MAX_SECTIONS
}

fn join<'p>(before: &mut FilePatch<'p>, file: FilePatch<'p>) {
    let last = before.patches.last().and_then(|patch| patch.hunks.last());
    let count = last.map_or(0, |hunk| hunk.number);
    let mut patches = file.patches;
    for hunk in patches.iter_mut().flat_map(|patch| &mut patch.hunks) {
        hunk.number += count;
    }
    // Only a file's only hunk may go to its end without saying so.
    let first = before.patches.first_mut();
    for scope in first.into_iter().chain(&mut patches).flat_map(|patch| &mut patch.scopes) {
        scope.appends = false;
    }
    before.change = file.change;
    before.patches.append(&mut patches);
}

fn refuse_conflicts(files: &[FilePatch<'_>]) -> Result<(), PatchError> {
    let mut paths: Vec<(Vec<String>, &str, usize)> = Vec::with_capacity(files.len());
    for file in files {
        paths.push((components(&file.path), &file.path, file.patch_line));
        if let FileChange::Update { move_to: Some(target) } = &file.change {
            paths.push((components(target), target, file.patch_line));
        }
    }
    paths.sort();
    // What is below a path comes directly after it.
    for pair in paths.windows(2) {
        let [(upper, path, first), (lower, below, second)] = pair else { continue };
        let (first, second) = (*first.min(second), *first.max(second));
        if upper == lower {
            let path = (*path).to_owned();
            return Err(FilesError::SamePath { path, first, second }.into());
        }
        if lower.starts_with(upper) {
            let (path, below) = ((*path).to_owned(), (*below).to_owned());
            return Err(FilesError::FileAndDirectory { path, below, first, second }.into());
        }
    }
    Ok(())
}

/// The parts of a path, as far as they are clear without the files.
fn components(path: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    if path.starts_with('/') {
        parts.push(String::new());
    }
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| last != ".." && !last.is_empty()) => {
                parts.pop();
            }
            _ => parts.push(part.to_owned()),
        }
    }
    parts
}

fn plain(path: &str) -> String {
    components(path).join("/")
}

//! What git puts into every new repository. Nobody misses it, and nobody has to be told of it.

use std::path::Path;

use crate::upper::{Node, Upper};

/// The file that says what a repository is for.
pub(super) const DESCRIPTION: &str = "description";
/// Its text, until somebody writes another one.
pub(super) const UNNAMED: &[u8] =
    b"Unnamed repository; edit this file 'description' to name the repository.\n";
/// A directory that git no longer reads. It is empty.
const BRANCHES: &str = "branches";

/// Whether an entry of a command's repository is what git has put there.
pub(super) fn has(upper: &Upper, name: &Path) -> bool {
    if name == Path::new(DESCRIPTION) {
        return is_described_by_git(upper);
    }
    name == Path::new(BRANCHES)
        && matches!(upper.entry(name), Ok(Node::Directory { .. }))
        && matches!(upper.directory().entries(name, 1), Ok(Some(entries)) if entries.is_empty())
}

/// Whether a repository has git's own description.
pub(super) fn is_described_by_git(upper: &Upper) -> bool {
    matches!(upper.read(DESCRIPTION, UNNAMED.len() as u64), Ok(Some(text)) if text == UNNAMED)
}

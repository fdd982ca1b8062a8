//! Repositories that lie outside of the root: of a linked work tree, or of a directory above.

use std::path::{Path, PathBuf};

use toolwright_names::printable_path;

use crate::denials::{Ended, located_in};
use crate::voice::Door;

/// Something in a git directory that commands cannot write.
pub(super) fn read_only(ended: &Ended<'_>, path: &Path) -> Option<String> {
    let git = git_directory(path)?;
    if git.starts_with(&ended.plan.root) {
        return None;
    }
    let shown = printable_path(&git);
    let grant = match ended.door {
        Door::Tools => format!("sandbox.writableRoots: ['{shown}']"),
        Door::Session => format!("fs.write for `{shown}/**`"),
    };
    Some(format!(
        "This is the sandbox: the repository of this directory is `{shown}`, outside of the root, and commands may only read it. Work without writing to it, or have the host grant {grant}."
    ))
}

/// git does not find the repository of a linked work tree, which the host has.
pub(super) fn unreachable(ended: &Ended<'_>) -> Option<String> {
    const WORDS: &str = "not a git repository: ";
    let path = ended.ends().flat_map(str::lines).find_map(|line| {
        let (_, path) = line.split_once(WORDS)?;
        located_in(ended.directory, path.trim().trim_end_matches(')'))
    })?;
    let git = git_directory(&path)?;
    // Inside it is not there.
    if !path.join("HEAD").is_file() || git.starts_with(&ended.plan.root) {
        return None;
    }
    let shown = printable_path(&git);
    let grant = match ended.door {
        Door::Tools => format!("sandbox.writableRoots: ['{shown}']"),
        Door::Session => format!("fs.read and fs.write for `{shown}/**`"),
    };
    Some(format!(
        "This is the sandbox: the repository of this linked work tree is `{shown}`, which commands do not see. Work without git, or have the host grant {grant}."
    ))
}

/// The git directory that a path lies in, with all work trees that are linked to it.
fn git_directory(path: &Path) -> Option<PathBuf> {
    path.ancestors()
        .filter(|at| at.file_name().is_some_and(|name| name == ".git"))
        .last()
        .map(Path::to_owned)
}

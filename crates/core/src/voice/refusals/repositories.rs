//! Repositories that lie outside of the root: of a linked work tree, or of a directory above.

use std::path::{Path, PathBuf};

use toolwright_names::printable_path;

use crate::denials::{Ended, is_of_commands, located_in};
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

/// git does not find the repository, which the host has.
pub(super) fn unreachable(ended: &Ended<'_>) -> Option<String> {
    linked(ended).or_else(|| above(ended))
}

/// That of a directory above the root, of which commands see no more than the way to the root.
fn above(ended: &Ended<'_>) -> Option<String> {
    const WORDS: &str = "not a git repository (or any parent up to mount point ";
    let root = &ended.plan.root;
    // Git has looked in the root, and not beyond the directory that it lies in.
    let is_of_root = |line: &str| {
        let mount = line.split_once(WORDS).map(|(_, mount)| mount.trim_end_matches(')'));
        mount.is_some_and(|mount| root.parent() == Some(Path::new(mount)))
    };
    if !ended.ends().flat_map(str::lines).any(is_of_root) {
        return None;
    }
    let top = root.ancestors().skip(1).find(|at| at.join(".git/HEAD").is_file())?;
    let git = top.join(".git");
    let plan = ended.plan;
    let is_granted = plan.readable.iter().chain(&plan.writable).any(|path| git.starts_with(path));
    if is_granted || !(plan.closes(&git) || is_of_commands(&git)) {
        return None;
    }
    let (shown, git) = (printable_path(top), printable_path(&git));
    let grant = match ended.door {
        Door::Tools => {
            format!("sandbox.readable: ['{shown}'] and sandbox.writableRoots: ['{git}']")
        }
        Door::Session => format!("fs.read for `{shown}/**` and fs.write for `{git}/**`"),
    };
    Some(format!(
        "This is the sandbox: the repository of this directory is `{git}`, outside of the root, and commands do not see it. Work without git, or have the host grant {grant}."
    ))
}

/// That of a linked work tree.
fn linked(ended: &Ended<'_>) -> Option<String> {
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

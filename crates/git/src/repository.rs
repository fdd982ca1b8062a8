//! Which directories git uses in a work tree.
//!
//! A `.git` that is a file leads elsewhere, and whoever can write the work tree can write that file. So it is
//! followed only to a repository that names this work tree in turn: only somebody who can write there could have
//! made it do so.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, statat};

use crate::directory::Directory;

/// The name of a git directory in its work tree.
pub const DOT_GIT: &str = ".git";
/// No file that leads to a directory is longer.
const MAX_LEAD: u64 = 8 << 10;
/// The configuration of a submodule is not read beyond this.
const MAX_CONFIG: u64 = 1 << 20;

/// The git directories of a work tree: its own, and the one that it shares with others. None of them lies in
/// another one of them.
#[must_use]
pub fn directories(top: &Path) -> Vec<PathBuf> {
    let dot_git = top.join(DOT_GIT);
    match kind_of(&dot_git) {
        Some(FileType::Directory) => {
            let common = shared(&dot_git).filter(|shared| !shared.starts_with(&dot_git));
            // One that shares another repository by a file in it is read-only: nothing names it in turn.
            if common.is_none() && is_repository(&dot_git) { vec![dot_git] } else { Vec::new() }
        }
        Some(FileType::RegularFile) => led_to(top, &dot_git).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Whether a directory has what git asks for: a HEAD, objects and references.
#[must_use]
pub fn is_repository(directory: &Path) -> bool {
    let is = |name: &str, kind| kind_of(&directory.join(name)) == Some(kind);
    is("HEAD", FileType::RegularFile)
        && is("objects", FileType::Directory)
        && is("refs", FileType::Directory)
}

/// Where the `.git` file of a linked work tree or of a submodule leads.
fn led_to(top: &Path, dot_git: &Path) -> Option<PathBuf> {
    let directory = lead(top, Path::new(DOT_GIT), b"gitdir: ")?;
    let names = |path: Option<PathBuf>, own: &Path| path.is_some_and(|path| path == own);
    if let Some(shared) = shared(&directory) {
        let back = lead(&directory, Path::new("gitdir"), b"");
        let is_below = directory.parent().is_some_and(|above| above == shared.join("worktrees"));
        return (is_below && names(back, dot_git) && is_repository(&shared)).then_some(shared);
    }
    let back = work_tree_of(&directory);
    (names(back, top) && is_repository(&directory)).then_some(directory)
}

/// The directory that a git directory shares with others.
fn shared(directory: &Path) -> Option<PathBuf> {
    lead(directory, Path::new("commondir"), b"")
}

/// Where a file leads that holds nothing but a path, behind `before`.
fn lead(directory: &Path, name: &Path, before: &[u8]) -> Option<PathBuf> {
    let text = Directory::open(directory).ok()?.read(name, MAX_LEAD).ok()??;
    let path = text.strip_prefix(before)?;
    let end =
        path.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
    if end == 0 {
        return None;
    }
    resolved(directory, Path::new(OsStr::from_bytes(&path[..end])))
}

/// The work tree that the configuration of a submodule names.
fn work_tree_of(directory: &Path) -> Option<PathBuf> {
    let text = Directory::open(directory).ok()?.read("config", MAX_CONFIG).ok()??;
    let mut is_core = false;
    let mut found = None;
    for line in text.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii();
        if line.starts_with(b"[") {
            is_core = line.eq_ignore_ascii_case(b"[core]");
        } else if is_core
            && let Some((name, value)) = split_once(line, b'=')
            && name.trim_ascii().eq_ignore_ascii_case(b"worktree")
        {
            found = Some(value.trim_ascii());
        }
    }
    resolved(directory, Path::new(OsStr::from_bytes(found?)))
}

fn split_once(line: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let place = line.iter().position(|byte| *byte == at)?;
    Some((&line[..place], &line[place + 1..]))
}

/// A path from a directory on, without `.` and `..`. It has no link in it, or is none that is followed.
fn resolved(directory: &Path, path: &Path) -> Option<PathBuf> {
    let mut clean = PathBuf::from("/");
    for part in directory.join(path).components() {
        match part {
            Component::Normal(name) => clean.push(name),
            Component::ParentDir => {
                clean.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    // Opening it refuses links.
    (Directory::open(clean.parent()?).is_ok()).then_some(clean)
}

fn kind_of(path: &Path) -> Option<FileType> {
    let found = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(found.st_mode))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn repository(directory: &Path) {
        for name in ["objects", "refs"] {
            fs::create_dir_all(directory.join(name)).expect("a directory");
        }
        fs::write(directory.join("HEAD"), "ref: refs/heads/main\n").expect("a file");
    }

    #[test]
    fn files_lead_only_to_what_names_them_in_turn() {
        let place = tempfile::tempdir().expect("a directory");
        let place = place.path().canonicalize().expect("it is there");
        let (main, tree) = (place.join("main/.git"), place.join("tree"));
        repository(&main);
        let own = main.join("worktrees/tree");
        fs::create_dir_all(&own).expect("a directory");
        fs::create_dir_all(&tree).expect("a directory");
        fs::write(own.join("commondir"), "../..\n").expect("a file");
        fs::write(tree.join(".git"), format!("gitdir: {}\n", own.display())).expect("a file");
        assert_eq!(directories(&place.join("main")), std::slice::from_ref(&main));
        assert!(directories(&tree).is_empty(), "it names no work tree");
        fs::write(own.join("gitdir"), format!("{}/.git\n", tree.display())).expect("a file");
        assert_eq!(directories(&tree), std::slice::from_ref(&main));
        let other = place.join("other");
        fs::create_dir_all(&other).expect("a directory");
        fs::copy(tree.join(".git"), other.join(".git")).expect("a copy");
        assert!(directories(&other).is_empty(), "it names another work tree");
        let module = main.join("modules/sub");
        repository(&module);
        let sub = place.join("main/sub");
        fs::create_dir_all(&sub).expect("a directory");
        fs::write(sub.join(".git"), "gitdir: ../.git/modules/sub\n").expect("a file");
        assert!(directories(&sub).is_empty());
        fs::write(module.join("config"), "[core]\n\tworktree = ../../../sub\n").expect("a file");
        assert_eq!(directories(&sub), [module]);
        fs::write(place.join("main/.git/commondir"), "../../x\n").expect("a file");
        assert!(directories(&place.join("main")).is_empty());
    }
}

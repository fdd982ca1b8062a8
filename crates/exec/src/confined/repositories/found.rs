//! What lies in a place where a repository may be.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use toolwright_git::directory::Directory;

use super::Grounds;

/// Git reads no longer file that leads elsewhere. Line feeds may follow the path.
pub(super) const MAX_LEAD: u64 = 1 << 20;
/// Names of submodules have slashes in them, and submodules have submodules.
const MAX_MODULE_DEPTH: usize = 8;
/// More are not looked at.
const MAX_MODULES: usize = 512;
/// How many entries are read to find them.
const MAX_MODULE_ENTRIES: usize = 1 << 14;

/// The directory of a repository, and what leads there if it is another one than `.git`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) directory: PathBuf,
    pub(super) lead: Option<Vec<u8>>,
}

/// The repository that git finds in a directory. `None` where there is none that commands could have made, or
/// that they could not read: to say what is there would be an answer about a place that is closed to them.
pub(super) fn find(place: &Path, grounds: &Grounds) -> Option<Found> {
    let root = &*grounds.root;
    let git = place.join(".git");
    let kind = git.symlink_metadata().ok().map(|found| found.file_type());
    match kind {
        // That of the root is a person's, and protected by mounts. Git looks no further where there is one.
        Some(kind) if place == root && (!kind.is_dir() || is_one(&git) || !is_bare(root)) => None,
        Some(kind) if kind.is_dir() && is_one(&git) => Some(Found { directory: git, lead: None }),
        Some(kind) if kind.is_file() => {
            let text = read_lead(&git)?;
            let path = place.join(path_of(text.strip_prefix(b"gitdir: ")?));
            led(&path, text, grounds)
        }
        Some(kind) if kind.is_symlink() => {
            let target = fs::read_link(&git).ok()?;
            led(&git, target.into_os_string().as_bytes().to_vec(), grounds)
        }
        _ if is_bare(place) => Some(Found { directory: place.to_owned(), lead: None }),
        _ => None,
    }
}

fn is_one(git: &Path) -> bool {
    git.join("HEAD").symlink_metadata().is_ok()
}

/// The repository to which a command's file or link leads. That of the root is a person's.
fn led(path: &Path, lead: Vec<u8>, grounds: &Grounds) -> Option<Found> {
    let directory = fs::canonicalize(path).ok()?;
    let own = fs::canonicalize(grounds.root.join(".git")).ok();
    let is_one = || is_bare(&directory) || is_linked(&directory);
    let is_other = own.as_deref() != Some(&directory);
    (grounds.is_open(&directory) && is_other && is_one())
        .then_some(Found { directory, lead: Some(lead) })
}

/// Whether it is the directory of a working tree, which has the rest of a repository elsewhere.
fn is_linked(directory: &Path) -> bool {
    ["HEAD", "commondir"].iter().all(|name| directory.join(name).symlink_metadata().is_ok())
}

/// Whether git takes a directory for a repository by its contents.
pub(super) fn is_bare(directory: &Path) -> bool {
    directory.join("HEAD").symlink_metadata().is_ok()
        && ["objects", "refs"].iter().all(|name| directory.join(name).is_dir())
}

/// Where a file leads that holds a path, from its own directory on.
pub(super) fn led_to(file: &Path) -> Option<PathBuf> {
    let text = read_lead(file)?;
    fs::canonicalize(file.parent()?.join(path_of(&text))).ok()
}

/// The path in such a file, as git takes it: without line feeds at the end, and with spaces.
pub(super) fn path_of(text: &[u8]) -> &OsStr {
    let end =
        text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
    OsStr::from_bytes(&text[..end])
}

/// The text of a file that leads elsewhere. Nothing is waited for, and no link is followed.
fn read_lead(file: &Path) -> Option<Vec<u8>> {
    Directory::open(file.parent()?).ok()?.read(file.file_name()?, MAX_LEAD).ok().flatten()
}

/// The repositories of the submodules of a repository.
pub(super) fn modules(holder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut left = MAX_MODULE_ENTRIES;
    add_modules(&holder.join("modules"), 0, &mut left, &mut all);
    all
}

fn add_modules(directory: &Path, depth: usize, left: &mut usize, all: &mut Vec<PathBuf>) {
    // A link in its place leads to where a person's directories may be.
    let entries = Directory::open(directory).and_then(|opened| opened.entries(".", *left));
    for entry in entries.ok().flatten().unwrap_or_default() {
        if depth >= MAX_MODULE_DEPTH || all.len() >= MAX_MODULES || *left == 0 {
            return;
        }
        *left -= 1;
        let path = directory.join(entry.name);
        if !entry.kind.is_dir() {
            continue;
        }
        if is_bare(&path) {
            add_modules(&path.join("modules"), depth + 1, left, all);
            all.push(path);
        } else {
            add_modules(&path, depth + 1, left, all);
        }
    }
}

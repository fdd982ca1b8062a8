//! What lies in a place where a repository may be.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Git reads no longer file that leads elsewhere. Line feeds may follow the path.
const MAX_LEAD: u64 = 1 << 20;
/// Names of submodules have slashes in them, and submodules have submodules.
const MAX_MODULE_DEPTH: usize = 8;
/// More are not looked at.
const MAX_MODULES: usize = 512;

/// The directory of a repository, and what leads there if it is another one than `.git`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) directory: PathBuf,
    pub(super) lead: Option<Vec<u8>>,
}

/// The repository that git finds in a directory. `None` where there is none that commands could have made.
pub(super) fn find(place: &Path, root: &Path) -> Option<Found> {
    let git = place.join(".git");
    let kind = git.symlink_metadata().ok().map(|found| found.file_type());
    match kind {
        // That of the root is protected by mounts.
        Some(_) if place == root && !is_bare(root) => None,
        Some(kind) if kind.is_dir() && git.join("HEAD").symlink_metadata().is_ok() => {
            Some(Found { directory: git, lead: None })
        }
        Some(kind) if kind.is_file() => {
            let text = read_lead(&git)?;
            let path = path_of(text.strip_prefix(b"gitdir: ")?);
            let directory = fs::canonicalize(place.join(path)).ok()?;
            Some(Found { directory, lead: Some(text) })
        }
        Some(kind) if kind.is_symlink() => {
            let target = fs::read_link(&git).ok()?;
            let directory = fs::canonicalize(&git).ok()?;
            Some(Found { directory, lead: Some(target.into_os_string().as_bytes().to_vec()) })
        }
        _ if is_bare(place) => Some(Found { directory: place.to_owned(), lead: None }),
        _ => None,
    }
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

fn read_lead(file: &Path) -> Option<Vec<u8>> {
    let found = file.symlink_metadata().ok()?;
    let is_short = found.is_file() && found.len() <= MAX_LEAD;
    is_short.then(|| fs::read(file).ok()).flatten()
}

/// The repositories of the submodules of a repository.
pub(super) fn modules(holder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    add_modules(&holder.join("modules"), 0, &mut all);
    all
}

fn add_modules(directory: &Path, depth: usize, all: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        if depth >= MAX_MODULE_DEPTH || all.len() >= MAX_MODULES {
            return;
        }
        let path = entry.path();
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        if is_bare(&path) {
            add_modules(&path.join("modules"), depth + 1, all);
            all.push(path);
        } else {
            add_modules(&path, depth + 1, all);
        }
    }
}

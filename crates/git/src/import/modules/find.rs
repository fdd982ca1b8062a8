//! Finding the submodules of a git directory. Their names may have slashes.

use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::MODULES;
use crate::directory::{Directory, ReadError};
use crate::import::linked;
use crate::name::Mark;

/// A name of a submodule has no more parts.
pub(super) const MAX_PARTS: usize = 16;
/// So many entries are looked at.
const MAX_ENTRIES: usize = 10_000;

/// What was found.
#[derive(Debug, Default)]
pub(in super::super) struct Found {
    /// The git directories of submodules, sorted.
    pub(in super::super) modules: Vec<PathBuf>,
    /// The directories that hold them.
    pub(in super::super) directories: Vec<PathBuf>,
    /// Whether there are no more.
    pub(in super::super) is_whole: bool,
}

/// What the path of a submodule in a git directory says: the directory of the linked work tree that it belongs to, or
/// nothing for the main one, and its name.
pub(super) fn parts(path: &Path) -> Option<(&Path, &Path)> {
    if let Ok(name) = path.strip_prefix(MODULES) {
        return Some((Path::new(""), name));
    }
    let tree = path.strip_prefix(linked::ALL).ok()?.iter().next()?;
    let above = path.ancestors().find(|above| above.iter().count() == 2)?;
    let name = path.strip_prefix(Path::new(linked::ALL).join(tree).join(MODULES)).ok()?;
    Some((above, name))
}

/// Finds at most `limit` submodules: those of the main work tree, and those of `linked` ones, which are named by their
/// directories in the git directory. What is in a submodule is not looked at.
pub(in super::super) fn find(
    git: &Directory,
    linked: &[PathBuf],
    limit: usize,
    is_module: impl Fn(&Path, &Directory) -> bool,
) -> Result<Found, ReadError> {
    let mut found = Found { is_whole: true, ..Found::default() };
    let mut left = vec![PathBuf::from(MODULES)];
    left.extend(linked.iter().map(|prefix| prefix.join(MODULES)));
    let mut entries_left = MAX_ENTRIES;
    while let Some(path) = left.pop() {
        let directory = match git.below(&path) {
            Ok(Some(directory)) => directory,
            // A person's link leads elsewhere, and stays the person's.
            Ok(None) | Err(ReadError::WrongKind) => {
                found.directories.push(path);
                continue;
            }
            Err(error) => return Err(error),
        };
        let is_below = parts(&path).is_some_and(|(_, name)| !name.as_os_str().is_empty());
        if is_below && is_module(&path, &directory) {
            if found.modules.len() == limit {
                found.is_whole = false;
                break;
            }
            found.modules.push(path);
            continue;
        }
        let entries = match directory.entries(".", entries_left) {
            Ok(entries) => entries.unwrap_or_default(),
            Err(ReadError::TooLarge(_)) => {
                found.is_whole = false;
                break;
            }
            Err(error) => return Err(error),
        };
        entries_left -= entries.len();
        if path.iter().count() <= MAX_PARTS {
            let below = entries.into_iter().filter(|entry| entry.kind == FileType::Directory);
            left.extend(below.map(|entry| path.join(entry.name)));
        } else if !entries.is_empty() {
            found.is_whole = false;
        }
        found.directories.push(path);
    }
    found.modules.sort_unstable();
    Ok(found)
}

/// Whether a directory is a repository.
pub(in super::super) fn is_repository(_: &Path, directory: &Directory) -> bool {
    let is = |name: &str, kind| {
        let found = directory.entry(name).ok().flatten();
        found.is_some_and(|found| FileType::from_raw_mode(found.st_mode) == kind)
    };
    is("HEAD", FileType::RegularFile)
        && is("objects", FileType::Directory)
        && is("refs", FileType::Directory)
}

/// Whether a directory has anything that a repository has.
pub(in super::super) fn is_begun(_: &Path, directory: &Directory) -> bool {
    Mark::ALL.iter().any(|mark| !matches!(directory.entry(mark.name()), Ok(None)))
}

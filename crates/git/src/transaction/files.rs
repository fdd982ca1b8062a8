//! Changes to files below a git directory. No path leads through a link.

#![expect(
    clippy::disallowed_methods,
    reason = "it makes files in the host's own directories, and opens them again"
)]

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::failpoint;
use super::step::below_worktree;
use crate::directory::{Directory, ReadError};

/// No directory of the host is deeper.
const MAX_DEPTH: usize = 64;
/// Directories with more entries than this are not looked through for empty ones.
const EMPTY_ENTRIES: usize = 1000;

/// A name in an open directory.
#[derive(Debug)]
pub(super) struct Location {
    pub(super) parent: Directory,
    pub(super) name: OsString,
}

/// Finds a path. `None`: its directory is not there.
pub(super) fn locate(git: &Directory, path: &Path) -> io::Result<Option<Location>> {
    let Some((parent, name)) = split(path) else { return Err(Errno::INVAL.into()) };
    Ok(git.below(parent).map_err(io_error)?.map(|parent| Location { parent, name }))
}

/// Finds a path, and makes its directories.
pub(super) fn locate_or_make(git: &Directory, path: &Path) -> io::Result<Location> {
    // Git removes directories that are empty, at any time.
    for _ in 0..20 {
        if let Some(location) = locate(git, path)? {
            return Ok(location);
        }
        let mut so_far = PathBuf::new();
        for part in path.parent().into_iter().flat_map(Path::components) {
            so_far.push(part);
            if let Some(location) = locate(git, &so_far)? {
                failpoint::pass();
                match rustix::fs::mkdirat(&location.parent, &location.name, Mode::from(0o777)) {
                    Ok(()) | Err(Errno::EXIST | Errno::NOENT) => {}
                    Err(errno) => return Err(errno.into()),
                }
            }
        }
    }
    Err(Errno::BUSY.into())
}

impl Location {
    /// What is there, without following a link.
    pub(super) fn stat(&self) -> io::Result<Option<Stat>> {
        stat(&self.parent, &self.name)
    }

    /// The same place with `.lock` at its end.
    pub(super) fn lock(&self) -> OsString {
        let mut name = self.name.clone();
        name.push(".lock");
        name
    }

    /// Removes the directory that is here if it is empty, but for directories that are empty.
    pub(super) fn remove_empty(&self) -> io::Result<()> {
        remove_empty(&self.parent, &self.name, 40)
    }
}

/// What has a name in a directory, without following a link.
pub(super) fn stat(directory: &Directory, name: &OsStr) -> io::Result<Option<Stat>> {
    match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Whether both are the same file.
pub(super) fn is_same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

pub(super) fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode).is_dir()
}

pub(super) fn is_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode).is_file()
}

/// Makes a file that was not there.
pub(crate) fn create(
    directory: &Directory,
    name: impl AsRef<OsStr>,
    mode: u32,
) -> io::Result<File> {
    failpoint::pass();
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory, name.as_ref(), flags, Mode::from_raw_mode(mode))?;
    Ok(file.into())
}

/// Writes all of a content. A test can stop in its middle.
pub(crate) fn write(mut file: &File, content: &[u8]) -> io::Result<()> {
    let (first, second) = content.split_at(content.len() / 2);
    for half in [first, second] {
        failpoint::pass();
        file.write_all(half)?;
    }
    Ok(())
}

/// Renames a file within the git directory, over what is there.
pub(super) fn rename(from: &Directory, name: &OsStr, to: &Location) -> io::Result<()> {
    failpoint::pass();
    Ok(rustix::fs::renameat(from, name, &to.parent, &to.name)?)
}

/// Removes a file, if it is there.
pub(crate) fn unlink(directory: &Directory, name: impl AsRef<OsStr>) -> io::Result<()> {
    failpoint::pass();
    match rustix::fs::unlinkat(directory, name.as_ref(), AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Removes a directory with everything in it, if it is there. No link is followed.
pub(crate) fn remove_all(parent: &Directory, name: &OsStr) -> io::Result<()> {
    remove_within(parent, name, MAX_DEPTH)
}

fn remove_within(parent: &Directory, name: &OsStr, depth: usize) -> io::Result<()> {
    let Some(directory) = parent.below(name).map_err(io_error)? else { return Ok(()) };
    for entry in directory.entries(".", usize::MAX).map_err(io_error)?.unwrap_or_default() {
        if entry.kind == FileType::Directory && depth > 0 {
            remove_within(&directory, &entry.name, depth - 1)?;
        } else {
            unlink(&directory, &entry.name)?;
        }
    }
    failpoint::pass();
    match rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Removes the directories of a path that are empty, as far as git does.
pub(super) fn remove_empty_parents(git: &Directory, path: &Path) {
    for parent in path.ancestors().skip(1) {
        if is_kept(parent) {
            return;
        }
        let Ok(Some(location)) = locate(git, parent) else { continue };
        failpoint::pass();
        let removed = rustix::fs::unlinkat(&location.parent, &location.name, AtFlags::REMOVEDIR);
        if !matches!(removed, Ok(()) | Err(Errno::NOENT)) {
            return;
        }
    }
}

/// Whether a directory stays when it is empty.
fn is_kept(path: &Path) -> bool {
    // A linked work tree without a file is none, and git removes `worktrees` with the last one.
    if path.starts_with("worktrees") && below_worktree(path).as_os_str().is_empty() {
        return false;
    }
    let path = below_worktree(path);
    let refs = path.strip_prefix("logs").unwrap_or(path);
    let depth = path.components().count();
    depth == 0
        || matches!(path.as_os_str().as_bytes(), b"info" | b"logs" | b"refs")
        || refs.starts_with("refs") && refs.components().count() <= 2
}

fn remove_empty(parent: &Directory, name: &OsStr, depth: usize) -> io::Result<()> {
    if depth == 0 {
        return Err(Errno::NOTEMPTY.into());
    }
    if let Some(directory) = parent.below(name).map_err(io_error)? {
        for entry in directory.entries(".", EMPTY_ENTRIES).map_err(io_error)?.unwrap_or_default() {
            if entry.kind != FileType::Directory {
                return Err(Errno::NOTEMPTY.into());
            }
            remove_empty(&directory, &entry.name, depth - 1)?;
        }
    }
    failpoint::pass();
    match rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn split(path: &Path) -> Option<(&Path, OsString)> {
    let parent = path.parent()?;
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    Some((parent, path.file_name()?.to_owned()))
}

pub(crate) fn io_error(error: ReadError) -> io::Error {
    match error {
        ReadError::WrongKind => Errno::NOTDIR.into(),
        ReadError::TooLarge(_) => Errno::FBIG.into(),
        ReadError::Io(error) => error,
    }
}

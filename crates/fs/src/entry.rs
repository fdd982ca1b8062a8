//! Entries of directories below a root: deleting, renaming, creating and listing them.
//!
//! An entry is a name in an open directory. A link at the name itself is not followed: deleting and
//! renaming act on the link, as they do everywhere else.

use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;

use crate::protection::Protection;
use crate::{FileKind, FsError, FsErrorKind, Root, reserved};

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod names;
pub(crate) mod rename;

/// A name in an open directory.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) parent: OwnedFd,
    pub(crate) name: OsString,
}

impl Root {
    /// Finds the existing entry at `path`, and returns its status. Fails for the root itself, and for
    /// what is protected or reserved, at the entry or below it.
    pub(crate) fn entry(
        &self,
        path: &str,
        protection: &Protection<'_>,
    ) -> Result<(Entry, rustix::fs::Stat), FsError> {
        let relative = self.relative(path)?;
        let Some(Component::Normal(name)) = relative.components().next_back() else {
            let reason = "Path must name an entry of a directory";
            return Err(FsErrorKind::PathInvalid { reason }.at(path));
        };
        let at_path = |error: FsError| error.kind.at(path);
        let parent = match relative.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let location = self.locate(&parent.to_string_lossy()).map_err(at_path)?;
        if !location.is_directory {
            return Err(FsErrorKind::NotADirectory.at(path));
        }
        let entry = Entry { parent: location.descriptor, name: name.to_owned() };
        let place: PathBuf = location.relative.join(name);
        protection.check_file(path, &place)?;
        protection.check_around(path, entry.parent.as_fd())?;
        let stat = rustix::fs::statat(&entry.parent, &entry.name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|errno| FsError::at(path, "looking at it", errno))?;
        reserved::check(path, &stat)?;
        let is_searched = toolwright_reserved::is_any() || protection.closes_git();
        if is_searched && FileKind::of(&stat) == Some(FileKind::Directory) {
            let directory = open_directory(entry.parent.as_fd(), &entry.name)
                .map_err(|errno| FsError::at(path, "opening", errno))?;
            if toolwright_reserved::is_any() && holds_reserved(&directory, 0) {
                return Err(FsErrorKind::Reserved.at(path));
            }
            protection.check_tree(path, &directory)?;
        }
        Ok((entry, stat))
    }
}

/// Opens the directory `name` of `parent` for listing, without following a link.
pub(crate) fn open_directory(
    parent: BorrowedFd<'_>,
    name: impl rustix::path::Arg,
) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags | OFlags::NONBLOCK, Mode::empty())
}

/// How deep a tree is searched for reserved files. A deeper one counts as holding some.
const MAX_DEPTH: usize = 64;

/// Whether a directory holds a reserved file. What cannot be listed counts as holding one.
fn holds_reserved(directory: &OwnedFd, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return true;
    }
    let Ok(mut listing) = Dir::read_from(directory) else { return true };
    while let Some(entry) = listing.read() {
        let Ok(entry) = entry else { return true };
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let Ok(stat) = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        if reserved::is_reserved(&stat) {
            return true;
        }
        if FileKind::of(&stat) == Some(FileKind::Directory) {
            match open_directory(directory.as_fd(), name) {
                Ok(inner) if !holds_reserved(&inner, depth + 1) => {}
                Err(Errno::NOENT) => {}
                _ => return true,
            }
        }
    }
    false
}

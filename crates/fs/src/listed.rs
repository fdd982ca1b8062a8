//! Opens regular files and directories for a search, by their paths from a listing.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::open::{Links, READ};
use crate::root::O_PATH;
use crate::walk::{Missing, WalkEnd};
use crate::{FileKind, FsError, FsErrorKind, Root, reserved, walk};

impl Root {
    /// Opens a regular file or a directory below the root for a search, by a path from a listing.
    /// Where the kernel can, this takes one system call and a look, because a search opens many
    /// files. A listing already leaves out devices and pipes.
    pub fn open_listed(&self, relative: &Path) -> io::Result<File> {
        let relative = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
        // A listing leaves out reserved files, so only a link could lead to one.
        let links = if toolwright_reserved::is_any() { Links::Refused } else { Links::Followed };
        let fd = match self.beneath(relative, READ, links) {
            Some(opened) => opened?,
            None => self.open_listed_by_walk(relative)?,
        };
        file_or_directory(fd)
    }

    fn open_listed_by_walk(&self, relative: &Path) -> io::Result<OwnedFd> {
        let display_path = relative.to_string_lossy();
        let outside = |error: FsError| match error.kind {
            FsErrorKind::NotFound => Errno::NOENT.into(),
            FsErrorKind::Permission { source, .. } | FsErrorKind::Io { source, .. } => source,
            _ => io::Error::from(Errno::XDEV),
        };
        let (directory, name) =
            match walk::walk(self, &display_path, relative, Missing::Reported).map_err(outside)? {
                WalkEnd::Entry { parent, name, .. } => (parent, name),
                WalkEnd::Directory(directory) => (directory, ".".into()),
            };
        let directory = directory.as_ref().map_or_else(|| self.as_fd(), AsFd::as_fd);
        if is_reserved_entry(directory, &name) {
            return Err(Errno::NXIO.into());
        }
        Ok(rustix::fs::openat(directory, name, READ | OFlags::NOFOLLOW, Mode::empty())?)
    }
}

/// Opens files below a directory and follows no links, so a path is the real path.
#[derive(Debug)]
pub struct Opener(pub(crate) Root);

impl Opener {
    /// Opens a regular file or a directory for reading, by a path from a listing.
    pub fn open(&self, relative: &Path) -> io::Result<File> {
        let relative = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
        let fd = match self.0.beneath(relative, READ, Links::Refused) {
            Some(opened) => opened?,
            None => self.open_by_steps(relative)?,
        };
        file_or_directory(fd)
    }

    fn open_by_steps(&self, relative: &Path) -> io::Result<OwnedFd> {
        let flags = O_PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let names: Vec<_> = relative
            .components()
            .filter(|component| *component != Component::CurDir)
            .map(|component| match component {
                Component::Normal(name) => Ok(name),
                _ => Err(Errno::XDEV),
            })
            .collect::<Result<_, _>>()?;
        let Some((last, directories)) = names.split_last() else {
            return Ok(rustix::fs::openat(&self.0, ".", READ, Mode::empty())?);
        };
        let mut here = rustix::io::fcntl_dupfd_cloexec(&self.0, 0)?;
        for name in directories {
            here = rustix::fs::openat(&here, *name, flags, Mode::empty())?;
        }
        Ok(rustix::fs::openat(&here, *last, READ | OFlags::NOFOLLOW, Mode::empty())?)
    }
}

/// What was opened, unless it is reserved or neither a regular file nor a directory.
fn file_or_directory(fd: OwnedFd) -> io::Result<File> {
    let stat = rustix::fs::fstat(&fd)?;
    let fd = reserved::unless_reserved(fd, &stat).ok_or(Errno::NXIO)?;
    match FileKind::of(&stat) {
        None | Some(FileKind::Directory) => Ok(File::from(fd)),
        Some(_) => Err(Errno::NXIO.into()),
    }
}

/// Whether `name` in an open directory is a reserved file.
fn is_reserved_entry(directory: BorrowedFd<'_>, name: &OsStr) -> bool {
    toolwright_reserved::is_any()
        && rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| reserved::is_reserved(&stat))
}

//! The file in a view, and the file on the host: what both have in common.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, Stat, openat, statat, unlinkat};
use rustix::io::Errno;
use toolwright_git::directory::Directory;
use toolwright_sandbox::plan::MAX_VIEW_BYTES;

/// A command that makes more beside a view has it no more.
const MAX_BESIDE: usize = 1 << 16;

/// Longer files are not read.
pub(super) const MAX_BYTES: u64 = MAX_VIEW_BYTES;

/// Which version of a file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    file: (u64, u64),
    size: i64,
    modified: (i64, i128),
    changed: (i64, i128),
}

impl Stamp {
    pub(super) fn of(stat: &Stat) -> Self {
        Self {
            file: (stat.st_dev, stat.st_ino),
            size: stat.st_size,
            modified: (stat.st_mtime, i128::from(stat.st_mtime_nsec)),
            changed: (stat.st_ctime, i128::from(stat.st_ctime_nsec)),
        }
    }
}

/// One view. A command may have made anything of its directory, so no link is followed there.
pub(super) struct ViewFile<'v> {
    views: &'v Directory,
    number: usize,
    name: &'v OsStr,
}

impl<'v> ViewFile<'v> {
    pub(super) fn new(views: &'v Directory, number: usize, path: &'v Path) -> Option<Self> {
        Some(Self { views, number, name: path.file_name()? })
    }

    /// A look that costs little. It may be at a stranger's file, and what is opened later is not.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        let path = Path::new(&self.number.to_string()).join(self.name);
        statat(self.views, path, AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| Stamp::of(&stat))
    }

    fn directory(&self) -> io::Result<Directory> {
        Ok(self.views.below(self.number.to_string())?.ok_or(Errno::NOENT)?)
    }

    /// What it says; `None` where there is no file.
    pub(super) fn read(&self) -> io::Result<Option<Vec<u8>>> {
        Ok(self.directory()?.read(self.name, MAX_BYTES)?)
    }

    /// Makes it new, with nothing beside it.
    #[expect(clippy::disallowed_methods, reason = "it makes a file, and reads none")]
    pub(super) fn write(&self, text: Option<&[u8]>) -> io::Result<()> {
        let directory = self.directory()?;
        for entry in directory.entries(".", MAX_BESIDE)?.unwrap_or_default() {
            unlinkat(&directory, entry.name, AtFlags::empty())?;
        }
        let Some(text) = text else { return Ok(()) };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mode = Mode::from_raw_mode(0o644);
        let file = openat(&directory, self.name, flags | OFlags::CLOEXEC, mode)?;
        File::from(file).write_all(text)
    }
}

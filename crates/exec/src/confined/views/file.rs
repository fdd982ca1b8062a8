//! The file in a view, and the file on the host: what both have in common.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2, statat,
    unlinkat,
};
use rustix::io::Errno;
use toolwright_sandbox::plan::MAX_VIEW_BYTES;

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
    views: &'v OwnedFd,
    number: usize,
    name: &'v OsStr,
}

impl<'v> ViewFile<'v> {
    pub(super) fn new(views: &'v OwnedFd, number: usize, path: &'v Path) -> Option<Self> {
        Some(Self { views, number, name: path.file_name()? })
    }

    /// A look that costs little. It may be at a stranger's file, and what is opened later is not.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        let path = Path::new(&self.number.to_string()).join(self.name);
        statat(self.views, path, AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| Stamp::of(&stat))
    }

    fn directory(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        openat2(self.views, self.number.to_string(), flags, Mode::empty(), beneath)
    }

    /// What it says; `None` where there is no file.
    pub(super) fn read(&self) -> io::Result<Option<Vec<u8>>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match openat(self.directory()?, self.name, flags, Mode::empty()) {
            Ok(file) => read_file(file).map(Some),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Makes it new, with nothing beside it.
    pub(super) fn write(&self, text: Option<&[u8]>) -> io::Result<()> {
        let directory = self.directory()?;
        for entry in Dir::read_from(&directory)? {
            let entry = entry?;
            let name = entry.file_name();
            if !matches!(name.to_bytes(), b"." | b"..") {
                unlinkat(&directory, name, AtFlags::empty())?;
            }
        }
        let Some(text) = text else { return Ok(()) };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mode = Mode::from_raw_mode(0o644);
        let file = openat(&directory, self.name, flags | OFlags::CLOEXEC, mode)?;
        File::from(file).write_all(text)
    }
}

/// All of a regular file that is not too long.
pub(super) fn read_file(file: OwnedFd) -> io::Result<Vec<u8>> {
    if !FileType::from_raw_mode(fstat(&file)?.st_mode).is_file() {
        return Err(Errno::INVAL.into());
    }
    let mut text = Vec::new();
    File::from(file).take(MAX_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(Errno::FBIG.into());
    }
    Ok(text)
}

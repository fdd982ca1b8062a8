//! Opens files below an open directory, for a search.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::open::{Links, READ};
use crate::root::O_PATH;
use crate::{FileKind, Root, reserved};

/// Opens files below a directory and follows no links, so a path is the real path.
#[derive(Debug)]
pub struct Opener(pub(super) Root);

impl Opener {
    /// Opens a regular file or a directory for reading, by a path from a listing.
    pub fn open(&self, relative: &Path) -> io::Result<File> {
        let relative = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
        let fd = match self.0.beneath(relative, READ, Links::Refused) {
            Some(opened) => opened?,
            None => self.open_by_steps(relative)?,
        };
        let stat = rustix::fs::fstat(&fd)?;
        let fd = reserved::unless_reserved(fd, &stat).ok_or(Errno::NXIO)?;
        match FileKind::of(&stat) {
            None | Some(FileKind::Directory) => Ok(File::from(fd)),
            Some(_) => Err(Errno::NXIO.into()),
        }
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

//! The one file system of our own. Everything that is laid over the host's files is a part of it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, mkdirat, mknodat, open, symlinkat};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};

use crate::mounts::kernel::{self, Attributes};

/// Covers a closed directory.
pub(super) const EMPTY: &str = "empty";
/// Covers a closed file.
pub(super) const NOTHING: &str = "nothing";

#[derive(Debug)]
pub(super) struct Scratch(OwnedFd);

impl AsFd for Scratch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Scratch {
    /// Mounts it on a directory that something else is going to cover.
    pub(super) fn mount(place: &Path) -> Result<Self, Errno> {
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount("tmpfs", place, "tmpfs", flags, c"mode=0755")?;
        let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let scratch = Self(open(place, directory, Mode::empty())?);
        scratch.directory(EMPTY, 0o555)?;
        // Readable and empty: many programs end if they cannot read their settings, and none if
        // these are empty.
        mknodat(&scratch.0, NOTHING, FileType::RegularFile, Mode::from_raw_mode(0o444), 0)?;
        Ok(scratch)
    }

    /// A directory for the entry at this place in the layout.
    pub(super) fn cover(&self, index: usize, mode: u32) -> Result<(), Errno> {
        self.directory(index.to_string(), mode)
    }

    /// Makes a place in a cover, with the directories above it.
    pub(super) fn make_place(
        &self,
        index: usize,
        relative: &Path,
        directory: bool,
    ) -> Result<(), Errno> {
        let mut path = PathBuf::from(index.to_string());
        let mut names = relative.components().peekable();
        while let Some(Component::Normal(name)) = names.next() {
            path.push(name);
            if directory || names.peek().is_some() {
                self.directory(&path, 0o755)?;
            } else {
                self.file(&path)?;
            }
        }
        Ok(())
    }

    /// Makes a link in a cover, with the directories above it.
    pub(super) fn make_link(&self, index: usize, relative: &Path, to: &Path) -> Result<(), Errno> {
        self.make_place(index, relative.parent().unwrap_or(relative), true)?;
        self.link(Path::new(&index.to_string()).join(relative), to)
    }

    pub(super) fn file(&self, path: impl AsRef<Path>) -> Result<(), Errno> {
        allow_existing(mknodat(
            &self.0,
            path.as_ref(),
            FileType::RegularFile,
            Mode::from_raw_mode(0o644),
            0,
        ))
    }

    pub(super) fn link(&self, path: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<(), Errno> {
        allow_existing(symlinkat(to.as_ref(), &self.0, path.as_ref()))
    }

    pub(super) fn directory(&self, path: impl AsRef<Path>, mode: u32) -> Result<(), Errno> {
        allow_existing(mkdirat(&self.0, path.as_ref(), Mode::from_raw_mode(mode)))
    }

    /// Covers that are taken after this are read-only.
    pub(super) fn seal(&self) -> Result<(), Errno> {
        kernel::restrict(self.0.as_fd(), Attributes::READ_ONLY | Attributes::NO_EXEC)
    }

    pub(super) fn take_cover(&self, index: usize) -> Result<OwnedFd, Errno> {
        self.take(&index.to_string())
    }

    pub(super) fn take(&self, name: &str) -> Result<OwnedFd, Errno> {
        kernel::copy_entry(&self.0, name)
    }
}

fn allow_existing(result: Result<(), Errno>) -> Result<(), Errno> {
    if result == Err(Errno::EXIST) { Ok(()) } else { result }
}

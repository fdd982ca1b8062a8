//! Objects of repositories that were removed.
//!
//! A copy that a command has made of a fork borrows the objects that the fork borrows, wherever it lies. It finds them
//! as long as commands see these mounts, also when the repository is gone.

use std::fs::File;
use std::io::copy;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, fstat, mkdirat, openat};
use rustix::io::Errno;
use toolwright_sandbox::plan::OBJECTS;

use super::Forks;
use crate::errno;
use crate::mounts::kernel::{self, Attributes};
use crate::mounts::private::names;

/// A file of this size keeps its place on the disk: what is mounted is not deleted.
const LARGE: u64 = 64 << 10;
/// What is kept of all repositories.
const MAX_BYTES: u64 = 64 << 20;
const MAX_MOUNTS: u32 = 256;

/// How much is kept.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Kept {
    bytes: u64,
    mounts: u32,
}

/// A directory that is kept, and those in it.
struct Keeping<'k> {
    kept: Kept,
    /// What is written.
    places: &'k OwnedFd,
    /// Where commands see that.
    shown: PathBuf,
}

impl Forks {
    /// Has commands see these objects when their directory is gone. `NOSPC`: there are too many.
    pub(super) fn keep_objects(&mut self, objects: &Path) -> Result<(), Errno> {
        let mut name = objects.file_name().ok_or(Errno::INVAL)?.to_owned();
        name.push(".kept");
        let from = kernel::open_followed(objects)?;
        let (places, shown) = (&self.places, Path::new(OBJECTS).join(&name));
        let mut keeping = Keeping { kept: self.kept, places, shown: shown.clone() };
        keeping.directory(&from, Path::new(&name))?;
        let kept = keeping.kept;
        let all = kernel::copy(kernel::open_followed(&shown)?)?;
        let all = kernel::restricted(all, Attributes::READ_ONLY)?;
        // What is mounted on the directory itself would hold it.
        let is_beneath = kernel::attach_beneath(&all, &from).is_ok();
        kernel::detach(from)?;
        if !is_beneath {
            kernel::attach(all, kernel::open_followed(objects)?)?;
        }
        self.kept = kept;
        Ok(())
    }
}

impl Keeping<'_> {
    /// `to` is below the places.
    fn directory(&mut self, from: &OwnedFd, to: &Path) -> Result<(), Errno> {
        mkdirat(self.places, to, Mode::from_raw_mode(0o755))?;
        for name in names(from)? {
            let to = to.join(&name);
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let entry = openat(from, &name, flags, Mode::empty())?;
            let stat = fstat(&entry)?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => self.directory(&entry, &to)?,
                FileType::RegularFile => self.file(entry, stat.st_size.cast_unsigned(), &to)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn file(&mut self, from: OwnedFd, size: u64, to: &Path) -> Result<(), Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let copied = openat(self.places, to, flags, Mode::from_raw_mode(0o444))?;
        let Kept { bytes, mounts } = &mut self.kept;
        if size < LARGE {
            *bytes += size;
            if *bytes > MAX_BYTES {
                return Err(Errno::NOSPC);
            }
            return copy(&mut File::from(from), &mut File::from(copied))
                .map(drop)
                .map_err(|error| errno::of(&error));
        }
        *mounts += 1;
        if *mounts > MAX_MOUNTS {
            return Err(Errno::NOSPC);
        }
        let below = to.strip_prefix(self.shown.file_name().ok_or(Errno::INVAL)?);
        let place = self.shown.join(below.map_err(|_| Errno::INVAL)?);
        kernel::attach(kernel::copy_entry(&from, c"")?, kernel::open_plain(&place)?)
    }
}

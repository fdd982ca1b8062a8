//! Files that are written beside their place, and then moved there whole.
//!
//! Their names begin with `tmp_`, so that git's own garbage collection removes what a kill leaves behind.

#![expect(
    clippy::disallowed_methods,
    reason = "it makes files in the host's own directories, and opens them again"
)]

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{io, process};

use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use crate::directory::Directory;

const CREATE: OFlags = OFlags::RDWR
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// A file without its final name. It is removed unless it is published.
#[derive(Debug)]
pub(crate) struct Temporary {
    directory: Arc<Directory>,
    name: String,
}

impl Temporary {
    /// Creates a file whose name begins with `prefix`, readable by those whom the umask allows.
    pub(crate) fn create(
        directory: &Arc<Directory>,
        prefix: &str,
        mode: u32,
    ) -> io::Result<(Self, File)> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("{prefix}{:x}_{number:x}", process::id());
            match openat(&**directory, &name, CREATE, Mode::from_raw_mode(mode)) {
                Ok(file) => {
                    return Ok((Self { directory: Arc::clone(directory), name }, file.into()));
                }
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Moves the file to its name in a directory of the same file system. `false`: something has that name
    /// already, and stays.
    pub(crate) fn publish(&self, target: &Directory, name: &str) -> io::Result<bool> {
        let flags = RenameFlags::NOREPLACE;
        match renameat_with(&*self.directory, &self.name, target, name, flags) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            // It was published before.
            Err(Errno::NOENT) if statat(target, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() => {
                Ok(false)
            }
            // A file system without this flag. Another writer of the same object writes the same content.
            Err(Errno::INVAL | Errno::NOSYS) => {
                if statat(target, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                    return Ok(false);
                }
                renameat(&*self.directory, &self.name, target, name)?;
                Ok(true)
            }
            Err(errno) => Err(errno.into()),
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After it was published, there is nothing of its name.
        let _ = unlinkat(&*self.directory, &self.name, AtFlags::empty());
    }
}

/// A file without any name, which goes when it is closed.
pub(crate) fn unnamed(directory: &Arc<Directory>) -> io::Result<File> {
    Temporary::create(directory, "tmp_obj_", 0o600).map(|(_, file)| file)
}

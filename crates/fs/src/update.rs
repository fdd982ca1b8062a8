//! Read, transform, publish: an edit that cannot lose somebody else's change.

use std::fs::File;
use std::sync::atomic::AtomicBool;

use rustix::io::Errno;

use crate::Durability;
use crate::FsError;
use crate::Refusal;
use crate::Root;
use crate::WriteOptions;
use crate::cancel::checkpoint;
use crate::open;
use crate::open::Identity;
use crate::publish;
use crate::read::read_open;
use crate::target;
use crate::target::Target;
use crate::target::Way;
use crate::temporary::Fingerprint;
use crate::temporary::Temporary;
use crate::write;

/// Why an update did not happen: the file system's reason, or the transformation's own.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError<E> {
    /// The file could not be read or published.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The transformation refused; nothing was changed.
    #[error("{0}")]
    Refused(E),
}

/// What an update did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Updated {
    /// The size before.
    pub old_bytes: usize,
    /// The size after.
    pub new_bytes: usize,
}

/// Replaces the content of the existing file at `path` by what `transform` makes of it.
///
/// Both the old and the new content must be within `limit`. On Linux the new file is *exchanged*
/// with the old one; what came out is compared with what had been read, and exchanged back with
/// [`FsError::Conflict`] on any difference. Elsewhere, and on file systems that cannot exchange, the
/// comparison stands directly before the rename.
pub fn update<E>(
    root: &Root,
    path: &str,
    limit: u64,
    options: &WriteOptions,
    cancel: &AtomicBool,
    transform: impl FnOnce(&[u8]) -> Result<Vec<u8>, E>,
) -> Result<Updated, UpdateError<E>> {
    checkpoint(cancel)?;
    let target = Target::open(root, path, None, options, cancel)?;
    let mut file = target.open_file(path)?;
    if target.existing(path)?.is_none() {
        return Err(FsError::NotFound { path: path.to_owned() }.into());
    }
    let stat = rustix::fs::fstat(&file)
        .map_err(|errno| FsError::at(path, "looking at it", errno))?;
    let old = read_open(&mut file, path, limit, cancel)?;
    let new = transform(&old).map_err(UpdateError::Refused)?;
    if new.len() as u64 > limit {
        let bytes = new.len() as u64;
        return Err(FsError::TooLarge { path: path.to_owned(), bytes, limit, result: true }.into());
    }
    let updated = Updated { old_bytes: old.len(), new_bytes: new.len() };
    if new == old {
        return Ok(updated);
    }

    let edit = Edit { target: &target, path, old: &old, stat: &stat, options, cancel };
    match target.prepare(path, Some((&stat, Some(&file))), options)? {
        Way::InPlace => edit.overwrite(&new)?,
        Way::Atomic(temporary) => {
            publish::write_all(&temporary.file, path, &new, cancel)?;
            if options.durability == Durability::Fsync {
                write::sync(&temporary.file, path)?;
            }
            checkpoint(cancel)?;
            edit.publish(temporary, &new)?;
        }
    }
    write::finish(&target, path, options)?;
    Ok(updated)
}

/// An edit that is ready to be published.
struct Edit<'a> {
    target: &'a Target,
    path: &'a str,
    old: &'a [u8],
    stat: &'a rustix::fs::Stat,
    options: &'a WriteOptions,
    cancel: &'a AtomicBool,
}

impl Edit<'_> {
    fn publish(&self, mut temporary: Temporary<'_>, new: &[u8]) -> Result<(), FsError> {
        let target = self.target;
        let fresh = rustix::fs::fstat(&temporary.file)
            .map_err(|errno| self.failed("looking at the new file", errno))?;
        let fresh = Identity::of(&fresh);
        temporary
            .announce_swap(fresh.inode, Fingerprint::of(self.stat))
            .map_err(|errno| self.failed("renaming", errno))?;
        match publish::exchange(target.directory(), temporary.name(), target.name()) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(self.conflict()),
            Err(Errno::BUSY) => {
                target::in_place_or_refuse(
                    self.path,
                    (Refusal::MountPoint, Errno::BUSY),
                    self.options,
                )?;
                return self.overwrite(new);
            }
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                return self.check_then_rename(temporary);
            }
            Err(errno) => return Err(self.failed("exchanging", errno)),
        }
        // From here the temporary name holds what came out; dropping it removes that.
        if self.came_out_unchanged(temporary.name()) {
            return Ok(());
        }
        self.take_back(temporary, fresh)
    }

    /// Whether the file at `name` is the one that was read, with the bytes that were read.
    fn came_out_unchanged(&self, name: &std::ffi::OsStr) -> bool {
        let Ok(Some((fd, identity))) = open::open_entry(self.path, self.target.directory(), name)
        else {
            return false;
        };
        if identity != Identity::of(self.stat) {
            return false;
        }
        let limit = self.old.len() as u64;
        // The decision is made whether or not the caller still waits for it.
        let never = AtomicBool::new(false);
        read_open(&mut File::from(fd), self.path, limit, &never)
            .is_ok_and(|bytes| bytes == self.old)
    }

    /// Undoes the exchange: what came out was somebody else's newer file.
    fn take_back(&self, temporary: Temporary<'_>, fresh: Identity) -> Result<(), FsError> {
        const MAX_ROUNDS: usize = 16;
        let directory = self.target.directory();
        for _ in 0..MAX_ROUNDS {
            match publish::exchange(directory, temporary.name(), self.target.name()) {
                Ok(()) => {}
                // The target has been deleted since, and what came out of it with it.
                Err(Errno::NOENT) => return Err(self.conflict()),
                Err(errno) => {
                    temporary.leave();
                    return Err(self.failed("exchanging back", errno));
                }
            }
            let out = rustix::fs::statat(
                directory,
                temporary.name(),
                rustix::fs::AtFlags::SYMLINK_NOFOLLOW,
            );
            // Our own file is out again, and goes. Anything else is a third party's, who replaced
            // ours meanwhile: theirs is the newest, and goes back in the next round.
            if out.is_ok_and(|stat| Identity::of(&stat) == fresh) {
                return Err(self.conflict());
            }
        }
        temporary.leave();
        Err(self.conflict())
    }

    fn check_then_rename(&self, mut temporary: Temporary<'_>) -> Result<(), FsError> {
        if !self.came_out_unchanged(self.target.name()) {
            return Err(self.conflict());
        }
        match temporary.rename_over(self.target.name()) {
            Ok(()) => Ok(()),
            Err(errno) => Err(self.failed("renaming", errno)),
        }
    }

    fn overwrite(&self, new: &[u8]) -> Result<(), FsError> {
        checkpoint(self.cancel)?;
        if !self.came_out_unchanged(self.target.name()) {
            return Err(self.conflict());
        }
        publish::overwrite(self.target.directory(), self.target.name(), self.path, new)
    }

    fn conflict(&self) -> FsError {
        FsError::Conflict { path: self.path.to_owned() }
    }

    fn failed(&self, operation: &'static str, errno: Errno) -> FsError {
        FsError::at(self.path, operation, errno)
    }
}

//! Reads, transforms and publishes a file, without losing another process's change.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::cancel::checkpoint;
use crate::open::identity;
use crate::publish::OpenDirectory;
use crate::read::{holds, read_open};
use crate::root::O_PATH;
use crate::target::{Old, PublishMethod, Target};
use crate::temporary::{Fingerprint, NameHash, Swap, Temporary};
use crate::{
    Content, FsError, FsErrorKind, Refusal, Root, WriteOptions, deferred_close, publish, target,
};

/// Why an update did not happen: the file system's reason, or the transformation's own.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError<E> {
    /// The file could not be read or published.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The transformation failed, and nothing was changed.
    #[error("{0}")]
    Refused(E),
}

/// The sizes of an updated file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Updated {
    /// The size before.
    pub old_bytes: usize,
    /// The size after.
    pub new_bytes: usize,
}

/// Replaces the content of the existing file at `path` by the result of `transform`.
///
/// Both the old and the new content must be within `limit`. On Linux the new file is *exchanged*
/// with the old one. If what came out is not what was read, they are exchanged back, and the update
/// fails with [`FsErrorKind::Conflict`]. Elsewhere, and on file systems that cannot exchange, the check
/// is directly before the rename.
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
    update_target(&target, path, limit, options, cancel, transform)
}

/// As [`update`], for a target that is open already.
pub(crate) fn update_target<E>(
    target: &Target,
    path: &str,
    limit: u64,
    options: &WriteOptions,
    cancel: &AtomicBool,
    transform: impl FnOnce(&[u8]) -> Result<Vec<u8>, E>,
) -> Result<Updated, UpdateError<E>> {
    let (file, stat) = target.open_file(path)?;
    if target.existing(path)?.is_none() {
        return Err(FsErrorKind::NotFound.at(path).into());
    }
    let old = read_open(&file, path, limit, cancel)?;
    let new = transform(&old).map_err(UpdateError::Refused)?;
    if new.len() as u64 > limit {
        let bytes = new.len() as u64;
        return Err(FsErrorKind::TooLarge { bytes, limit, result: true }.at(path).into());
    }
    let updated = Updated { old_bytes: old.len(), new_bytes: new.len() };
    if new == old {
        return Ok(updated);
    }
    publish::within_size_limit(path, new.len() as u64)?;
    replace_known(target, path, Old { file: Some(file), stat }, (&old, &new), options, cancel)?;
    Ok(updated)
}

/// Puts `new` in the place of the file `before`, which was open for reading and held `old`.
pub(crate) fn replace_known(
    target: &Target,
    path: &str,
    before: Old,
    (old, new): (&[u8], &[u8]),
    options: &WriteOptions,
    cancel: &AtomicBool,
) -> Result<(), FsError> {
    let directory = OpenDirectory::new(target.directory(), path, options.durability)?;
    let method = target.prepare(path, Some(&before), options)?;
    let edit = Edit { target, path, before: &before, old, options, cancel };
    match method {
        PublishMethod::InPlace => {
            let _alone = directory.lock(path, options.wait, cancel)?;
            edit.overwrite(new)?;
        }
        PublishMethod::Atomic(temporary) => {
            target::fill(&temporary, path, Content::Bytes(new), Some(&before), options, cancel)?;
            let _alone = directory.lock(path, options.wait, cancel)?;
            edit.publish(temporary, new)?;
        }
    }
    directory.finish(path, options.durability)?;
    if let Some(file) = before.file {
        deferred_close::close_later(file);
    }
    Ok(())
}

/// A file that an exchange has moved. The descriptor keeps its inode number from being reused.
struct Exchanged {
    /// `None` if there were no descriptors left.
    place: Option<OwnedFd>,
    print: Fingerprint,
}

impl Exchanged {
    /// Whether the file has no name any more.
    fn is_gone(&self) -> bool {
        let stat = self.place.as_ref().and_then(|place| rustix::fs::fstat(place).ok());
        stat.is_some_and(|stat| stat.st_nlink == 0)
    }
}

/// An edit that is ready to be published.
struct Edit<'a> {
    target: &'a Target,
    path: &'a str,
    before: &'a Old,
    /// The bytes that were read.
    old: &'a [u8],
    options: &'a WriteOptions,
    cancel: &'a AtomicBool,
}

impl Edit<'_> {
    fn publish(&self, mut temporary: Temporary<'_>, new: &[u8]) -> Result<(), FsError> {
        let target = self.target;
        // The exchange would notice every change too, but only after others could have seen an edit
        // of the wrong content. This leaves it only the time between the two.
        if !self.is_unchanged(target.name()) {
            return Err(self.conflict());
        }
        let fresh = rustix::fs::fstat(&temporary.file)
            .map_err(|errno| self.failed("looking at the new file", errno))?;
        temporary
            .announce_swap(Swap {
                new: Fingerprint::of(&fresh),
                out: Fingerprint::of(&self.before.stat),
                target: NameHash::of(target.name()),
            })
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
        // From here on the temporary name belongs to what came out. Dropping it removes that.
        if self.is_what_was_read(temporary.name()) {
            return Ok(());
        }
        self.take_back(temporary, Fingerprint::of(&fresh))
    }

    /// Whether the file that was read is still at `name`, apparently without changes.
    fn is_unchanged(&self, name: &OsStr) -> bool {
        self.stat(name).is_ok_and(|stat| {
            let same = Fingerprint::of(&stat) == Fingerprint::of(&self.before.stat);
            // Touched, but perhaps with the same bytes.
            same || self.is_what_was_read(name)
        })
    }

    /// Whether the file at `name` is the one that was read, with the bytes that were read.
    ///
    /// Reads through the descriptor that is open already, because the answer must not depend on
    /// getting another one.
    fn is_what_was_read(&self, name: &OsStr) -> bool {
        self.stat(name).is_ok_and(|stat| identity(&stat) == identity(&self.before.stat))
            && self.before.file.as_ref().is_some_and(|file| holds(file, self.old))
    }

    /// Undoes the exchange, because what came out was a newer file of another process.
    ///
    /// Other processes do not wait for this. Whatever they put in place of the new file is newer
    /// still, and stays. Only the new file and what it replaced are removed; if they cannot be
    /// identified, the file keeps its temporary name.
    fn take_back(&self, temporary: Temporary<'_>, fresh: Fingerprint) -> Result<(), FsError> {
        // A round is a check and an exchange. Another round is needed only if a process strikes
        // between the two, which a program that does nothing else can do a few dozen times.
        const MAX_ROUNDS: usize = 1000;
        let (ours, target) = (temporary.name(), self.target.name());
        // What the last exchange put at the target, and what it took from there.
        let mut put =
            Exchanged { place: temporary.file.try_clone().ok().map(Into::into), print: fresh };
        let mut taken = self.look_at(ours);
        // Whether the file that this call had put there was replaced, and not moved away or written
        // to.
        let mut replaced = true;
        let mut removable = false;
        for _ in 0..MAX_ROUNDS {
            if self.stat(target).is_ok_and(|stat| Fingerprint::of(&stat) != put.print) {
                removable = replaced && put.is_gone();
                break;
            }
            match publish::exchange(self.target.directory(), ours, target) {
                Ok(()) => {}
                // Deleted. The deletion was meant for what the exchange took out.
                Err(Errno::NOENT) => {
                    removable = replaced && put.is_gone();
                    break;
                }
                Err(errno) => {
                    temporary.leave();
                    return Err(self.failed("exchanging back", errno));
                }
            }
            let out = self.look_at(ours);
            if out.print == put.print {
                removable = replaced || put.print == fresh;
                break;
            }
            replaced &= put.is_gone();
            put = taken;
            taken = out;
        }
        if !removable {
            temporary.leave();
        }
        Err(self.conflict())
    }

    /// Remembers the file at `name`.
    fn look_at(&self, name: &OsStr) -> Exchanged {
        let flags = O_PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let place = rustix::fs::openat(self.target.directory(), name, flags, Mode::empty()).ok();
        let print = self.stat(name).map_or(Fingerprint::NONE, |stat| Fingerprint::of(&stat));
        Exchanged { place, print }
    }

    fn check_then_rename(&self, mut temporary: Temporary<'_>) -> Result<(), FsError> {
        if !self.is_what_was_read(self.target.name()) {
            return Err(self.conflict());
        }
        // The directory is locked.
        let (directory, name) = (self.target.directory(), self.target.name());
        let _turn = self.options.git.turn([name]);
        self.options.git.check_new(self.path, directory, name)?;
        match temporary.rename_over(self.target.name()) {
            Ok(()) => Ok(()),
            Err(errno) => Err(self.failed("renaming", errno)),
        }
    }

    fn overwrite(&self, new: &[u8]) -> Result<(), FsError> {
        checkpoint(self.cancel)?;
        let file = publish::open_in_place(self.target.directory(), self.target.name(), self.path)?;
        let stat = rustix::fs::fstat(&file).map_err(|errno| self.failed("looking at it", errno))?;
        // The file that was opened for writing is the one that was read, whatever is at the name
        // meanwhile.
        if identity(&stat) != identity(&self.before.stat)
            || !self.is_what_was_read(self.target.name())
        {
            return Err(self.conflict());
        }
        publish::overwrite(&file, self.path, Content::Bytes(new), self.options.durability)
    }

    fn stat(&self, name: &OsStr) -> Result<rustix::fs::Stat, Errno> {
        rustix::fs::statat(self.target.directory(), name, AtFlags::SYMLINK_NOFOLLOW)
    }

    fn conflict(&self) -> FsError {
        FsErrorKind::Conflict.at(self.path)
    }

    fn failed(&self, operation: &'static str, errno: Errno) -> FsError {
        FsError::at(self.path, operation, errno)
    }
}

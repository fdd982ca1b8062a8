//! Deletes an entry: a file, a link, or a directory with everything in it.

use std::os::fd::AsFd;
use std::sync::atomic::AtomicBool;

use rustix::fs::AtFlags;
use rustix::io::Errno;

use crate::cancel::checkpoint;
use crate::protection::Protection;
use crate::publish::OpenDirectory;
use crate::remove::remove_in;
use crate::target::Target;
use crate::{Durability, FileKind, FsError, FsErrorKind, Root, WriteOptions};

/// What [`delete`] may remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletable {
    /// A file or a link, and no directory.
    Files,
    /// A directory with everything in it too.
    Trees,
}

/// Deletes the entry at `path`. A link is deleted itself, and what it leads to stays.
///
/// A directory is not deleted in one step: after an error a part of it may be gone.
pub fn delete(
    root: &Root,
    path: &str,
    deletable: Deletable,
    options: &WriteOptions,
    cancel: &AtomicBool,
) -> Result<(), FsError> {
    checkpoint(cancel)?;
    let (entry, stat) = root.entry(path, &Protection::of(root, options))?;
    let is_directory = FileKind::of(&stat) == Some(FileKind::Directory);
    if is_directory && deletable == Deletable::Files {
        return Err(FsErrorKind::NotAFile { kind: FileKind::Directory }.at(path));
    }
    let directory = match options.durability {
        Durability::Process => None,
        Durability::Fsync => {
            Some(OpenDirectory::new(entry.parent.as_fd(), path, options.durability)?)
        }
    };
    if is_directory {
        remove_in(entry.parent.as_fd(), &entry.name, None).map_err(|error| {
            match Errno::from_io_error(&error) {
                Some(errno) => FsError::at(path, "deleting", errno),
                None => FsError::io(path, "deleting", error),
            }
        })?;
    } else {
        // Behind the calls that change the file.
        let target = Target::at(entry.parent, entry.name, path, options, cancel)?;
        rustix::fs::unlinkat(target.directory(), target.name(), AtFlags::empty())
            .map_err(|errno| FsError::at(path, "deleting", errno))?;
    }
    directory.map_or(Ok(()), |directory| directory.finish(path, options.durability))
}

//! Renames an entry, and never replaces another one.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use rustix::io::Errno;

use crate::cancel::checkpoint;
use crate::protection::Protection;
use crate::publish::{OpenDirectory, rename_unless_taken};
use crate::walk::CreatedDirectories;
use crate::{Durability, FsError, FsErrorKind, Root, WriteOptions};

/// Whether something new came to a path that had to be free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    /// It is there now.
    Done,
    /// Something was there already, and nothing was changed.
    Occupied,
}

/// Renames the entry at `from` to `to`, and creates the directories on the way there. A link is renamed
/// itself. After an error the directories are removed again.
pub fn rename(
    root: &Root,
    from: &str,
    to: &str,
    options: &WriteOptions,
    cancel: &AtomicBool,
) -> Result<Placed, FsError> {
    checkpoint(cancel)?;
    let protection = Protection::of(root, options);
    let (entry, _) = root.entry(from, &protection)?;
    let mut created = CreatedDirectories::default();
    // `to/` names the same entry, also for a directory that is not there yet.
    let relative: PathBuf = root.relative(to)?.components().collect();
    let parent = root.parent_of(to, &relative, Some(&mut created), &protection);
    let (parent, name) = match parent {
        Ok(parent) => parent,
        Err(FsError { kind: FsErrorKind::NotAFile { .. }, .. }) => return Ok(Placed::Occupied),
        Err(error) => return Err(error),
    };
    let sync = |fd: BorrowedFd<'_>| OpenDirectory::new(fd, to, options.durability);
    let directories = match options.durability {
        Durability::Process => None,
        Durability::Fsync => Some((sync(entry.parent.as_fd())?, sync(parent.as_fd())?)),
    };
    let _new = protection.new_name(to, parent.as_fd(), &name)?;
    let (from_directory, to_directory) = (entry.parent.as_fd(), parent.as_fd());
    match rename_unless_taken(from_directory, &entry.name, to_directory, &name) {
        Ok(()) => created.keep(),
        Err(Errno::EXIST | Errno::NOTEMPTY) => return Ok(Placed::Occupied),
        Err(Errno::NOENT) => return Err(FsErrorKind::NotFound.at(from)),
        Err(errno) => return Err(FsError::at(from, "renaming", errno)),
    }
    if let Some((old, new)) = directories {
        old.finish(from, options.durability)?;
        new.finish(to, options.durability)?;
    }
    Ok(Placed::Done)
}

//! Changes several files together: all of them, or none.
//!
//! 1. Every file is opened through the checks of a single write or edit, and read. The caller makes
//!    the new contents.
//! 2. A draft of the plan is written into the root directory. Then missing directories are made, and
//!    every new file is written beside its target.
//! 3. The plan is completed and renamed: the set is committed.
//! 4. Each new file is exchanged with the old one, or gets its name, or an old file loses its name. If
//!    what came out is not what was read, somebody else changed it: everything is put back.
//! 5. The plan is renamed once more, the old files are removed, and then the plan.
//!
//! After a kill at any moment the next write, edit or change set below the same root finishes the
//! set, or undoes it (see [`settle`]).
//!
//! Others who read meanwhile see each file as it was or as it will be, but may see one file before
//! and another one after its change. Two sets below the same root never do: they wait for each other.

mod execute;
mod files;
mod locate;
mod marks;
mod plan;
mod publish;
mod replace;
mod settle;
mod stage;
mod step;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

pub(crate) use execute::open_below;
pub(crate) use settle::{Judge, is_left, plan_in, settle};

use crate::cancel::checkpoint;
use crate::{FsError, FsErrorKind, OpenTarget, Root, UpdateError, WriteOptions};

/// Which file is meant.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    /// The one at a path below the root.
    Path(&'a str),
    /// The one that was opened before. It has to be below the root too.
    Opened(&'a OpenTarget),
}

/// What happens to a file.
#[derive(Debug, Clone, Copy)]
pub enum Change<'a> {
    /// It is created, with missing directories. Nothing may be there.
    Create {
        /// The permissions; without them those of any new file.
        mode: Option<u32>,
    },
    /// A link is created, with missing directories: its content is where it leads to. Nothing may be
    /// there.
    CreateLink,
    /// Its content is replaced. A link is followed.
    Update,
    /// Another entry gets its name. A link is not followed.
    Replace {
        /// The other entry.
        by: Replacement,
    },
    /// It gets another place, and another content if the caller makes one. Nothing may be there. A link
    /// is moved itself, with its text as it is.
    Move {
        /// The new place.
        to: Place<'a>,
    },
    /// As [`Change::Move`], and a file or a link that is there is replaced.
    MoveOnto {
        /// The new place.
        to: Place<'a>,
    },
    /// It is deleted. A link is deleted itself.
    Delete,
}

/// What replaces an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replacement {
    /// A file.
    File {
        /// Its permissions; without them those of any new file.
        mode: Option<u32>,
    },
    /// A link, whose content is where it leads to.
    Link,
}

/// A file and its change.
#[derive(Debug, Clone, Copy)]
pub struct FileChange<'a> {
    /// The file.
    pub place: Place<'a>,
    /// The change.
    pub change: Change<'a>,
}

/// An entry as it is before its change.
#[derive(Debug, Clone, Copy)]
pub struct Before<'a> {
    /// The content of the file, or where the link leads to; nothing for what is created.
    pub bytes: &'a [u8],
    /// Whether it is a link that is not followed.
    pub is_link: bool,
}

/// How large a change set may be.
#[derive(Debug, Clone, Copy)]
pub struct ChangeLimits {
    /// The most files.
    pub files: usize,
    /// The most bytes of a file, before and after.
    pub file_bytes: u64,
    /// The most bytes of all files together, before and after. They are in memory.
    pub total_bytes: u64,
}

impl Default for ChangeLimits {
    fn default() -> Self {
        Self { files: 10_000, file_bytes: 10 << 20, total_bytes: 256 << 20 }
    }
}

/// Files that are changed together.
#[derive(Debug, Clone, Copy)]
pub struct ChangeSet<'a> {
    /// The directory that all of them are below. The plan lies in it for a moment.
    pub root: &'a Root,
    /// The changes. No file may have two.
    pub changes: &'a [FileChange<'a>],
    /// Directories to remove afterwards if they are empty, relative to the root, outer ones first.
    pub emptied: &'a [PathBuf],
    /// How large the set may be.
    pub limits: ChangeLimits,
}

/// A file that was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// The index of its change.
    pub change: usize,
    /// Its real path below the root.
    pub path: PathBuf,
    /// Its new path, if it was moved.
    pub moved_to: Option<PathBuf>,
    /// Its old content; `None` if it was created. That of a link is where it leads to.
    pub old: Option<Vec<u8>>,
    /// Its new content; `None` if it was deleted.
    pub new: Option<Vec<u8>>,
    /// Its old permissions.
    pub mode: Option<u32>,
    /// Whether it was a link.
    pub was_link: bool,
    /// Whether another entry has its name now: the file or link that was moved onto it.
    pub is_replaced: bool,
}

/// What a change set did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangedFiles {
    /// The files, in the order of the changes.
    pub files: Vec<ChangedFile>,
    /// The directories that were made, relative to the root, outer ones first.
    pub made: Vec<PathBuf>,
}

/// Hears of the changes of a set while other calls of this process wait for its files.
pub trait Watch<E> {
    /// Nothing has been changed yet. What is replaced will be what the files say.
    fn before(&mut self, files: &[ChangedFile]) -> Result<(), E>;

    /// All has been changed.
    fn after(&mut self);
}

struct Unwatched;

impl<E> Watch<E> for Unwatched {
    fn before(&mut self, _: &[ChangedFile]) -> Result<(), E> {
        Ok(())
    }

    fn after(&mut self) {}
}

impl ChangeSet<'_> {
    /// Makes all changes or none.
    ///
    /// `transform` gets the index of a change and what is there before it, and makes the new content.
    /// What it makes for a deleted file does not matter. It is
    /// called once for each change, in their order, before anything is changed.
    ///
    /// # Errors
    ///
    /// Those of [`crate::write`] and [`crate::update`]; [`FsErrorKind::Exists`] for a file that is
    /// to be created; [`FsErrorKind::TooManyFiles`]. Nothing is changed then, except after an
    /// [`FsErrorKind::Io`] while files were put back ([`crate::PUT_BACK`]): the next call below the root
    /// tries that again. A cancellation counts until the set is committed.
    pub fn run<E>(
        &self,
        options: &WriteOptions,
        cancel: &AtomicBool,
        transform: impl FnMut(usize, Before<'_>) -> Result<Vec<u8>, E>,
    ) -> Result<ChangedFiles, UpdateError<E>> {
        self.run_watched(options, cancel, transform, &mut Unwatched)
    }

    /// As [`Self::run`], with someone who may refuse the changes once they are known.
    pub fn run_watched<E>(
        &self,
        options: &WriteOptions,
        cancel: &AtomicBool,
        mut transform: impl FnMut(usize, Before<'_>) -> Result<Vec<u8>, E>,
        watch: &mut impl Watch<E>,
    ) -> Result<ChangedFiles, UpdateError<E>> {
        checkpoint(cancel)?;
        if self.changes.len() > self.limits.files {
            let kind =
                FsErrorKind::TooManyFiles { count: self.changes.len(), limit: self.limits.files };
            return Err(kind.at(self.root.path().to_string_lossy()).into());
        }
        let located = locate::locate(self, options, cancel)?;
        let mut set = files::take_turns(self, located, options, cancel)?;
        set.read(self, cancel, &mut transform)?;
        let files = set.changed();
        watch.before(&files).map_err(UpdateError::Refused)?;
        let made = stage::run(self, &set, options, cancel)?;
        watch.after();
        set.close_later();
        Ok(ChangedFiles { files, made })
    }
}

/// Undoes what a change set did, as changes of another one.
///
/// The other set checks that the files are as the first one left them (`new`), and takes `emptied` from
/// [`ChangedFiles::made`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inverse {
    /// The file was created, and is deleted.
    Delete,
    /// The file was deleted, and is created with these permissions.
    Create {
        /// Its permissions.
        mode: Option<u32>,
    },
    /// The link was deleted, and is created.
    CreateLink,
    /// The content is replaced by the old one.
    Update,
    /// The old entry gets its name back.
    Replace {
        /// The old entry.
        by: Replacement,
    },
    /// The file goes back.
    Move {
        /// To this path.
        to: PathBuf,
    },
}

impl ChangedFile {
    /// The path and the change that undo this one.
    #[must_use]
    pub fn inverse(&self) -> (&PathBuf, Inverse) {
        match (&self.old, &self.new, &self.moved_to) {
            (None, ..) => (&self.path, Inverse::Delete),
            _ if self.is_replaced => {
                let by = if self.was_link {
                    Replacement::Link
                } else {
                    Replacement::File { mode: self.mode }
                };
                (&self.path, Inverse::Replace { by })
            }
            (_, None, _) if self.was_link => (&self.path, Inverse::CreateLink),
            (_, None, _) => (&self.path, Inverse::Create { mode: self.mode }),
            (_, _, Some(to)) => (to, Inverse::Move { to: self.path.clone() }),
            _ => (&self.path, Inverse::Update),
        }
    }
}

fn failed(path: &str, operation: &'static str) -> impl Fn(rustix::io::Errno) -> FsError {
    move |errno| FsError::at(path, operation, errno)
}

#[cfg(test)]
mod tests;

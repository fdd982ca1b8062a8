//! Writing into a git directory under git's own locks, all or nothing.
//!
//! A transaction stages what it writes in a directory of its own, and takes the locks that git takes:
//! `index.lock` for `index`. The file `plan` is the point of no return. Before it, nothing is changed. After
//! it, every step is made, by this process or, if that is killed, by the next one that calls [`recover`].
//!
//! Nothing here waits: a lock that another program has is an error. No link is followed, and no lock of
//! another program is touched. This module needs only the standard library and rustix, so that a small program
//! can finish what a killed one began.

mod execute;
pub(crate) mod failpoint;
pub(crate) mod files;
mod recover;
mod staging;
mod step;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, Stat, fchmod};
use rustix::io::Errno;

use crate::directory::Directory;
use execute::execute;
use files::Location;
pub use recover::{Recovered, recover};
use staging::Staging;
use step::{Content, Identity, Number, Step, below_worktree, owner_of_log, target};

/// Why something is not written.
#[derive(Debug, thiserror::Error)]
pub enum TransactionError {
    /// Another program has the lock. It may be free in a moment.
    #[error("{} is locked by another process", .0.display())]
    Held(PathBuf),
    /// A link, a pipe or a device is at the path, or a link on the way to it: the person's setup is left
    /// alone.
    #[error("{} is no regular file, or is behind a link", .0.display())]
    WrongKind(PathBuf),
    /// A directory that is not empty is at the path, or a file on the way to it.
    #[error("{} cannot be a file: a directory or a file is in its place", .0.display())]
    InTheWay(PathBuf),
    /// The path is not one that a transaction may write.
    #[error("{} is not written by a transaction", .0.display())]
    Path(PathBuf),
    /// The path is not locked by this transaction, or its log's reference is not.
    #[error("{} is not locked", .0.display())]
    NotLocked(PathBuf),
    /// The file system has no hard links.
    #[error("the file system has no hard links, which locks are made of")]
    NoHardLinks,
    /// The system refused.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The path in the git directory.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

/// A step that could not be made after the point of no return.
#[derive(Debug)]
pub struct Unfinished {
    /// Its path in the git directory.
    pub path: PathBuf,
    /// What the system says.
    pub error: io::Error,
}

/// Changes to a git directory that are made together. One that is dropped is taken back.
#[derive(Debug)]
pub struct Transaction<'a> {
    git: &'a Directory,
    staging: Staging,
    /// The staged file of each lock.
    locks: BTreeMap<PathBuf, Number>,
    steps: BTreeMap<PathBuf, Step>,
    next: Number,
    /// Between the point of no return and the last step: only a recovery may go on from here.
    is_midway: bool,
}

impl<'a> Transaction<'a> {
    /// Begins a transaction in a git directory. That of a linked work tree is reached by `worktrees/NAME/` in
    /// the common directory.
    pub fn begin(git: &'a Directory) -> io::Result<Self> {
        let staging = Staging::create(git)?;
        let (locks, steps) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { git, staging, locks, steps, next: 0, is_midway: false })
    }

    /// Takes git's lock of a path. A file that is new gets this mode, less the process's mask; a file that is
    /// replaced keeps its own.
    pub fn lock(&mut self, path: &Path, mode: u32) -> Result<(), TransactionError> {
        let path = target(path).ok_or_else(|| TransactionError::Path(path.to_owned()))?;
        if self.locks.contains_key(&path) {
            return Ok(());
        }
        let number = self.next;
        self.next += 1;
        let taken = self.take(number, &path, mode);
        if taken.is_ok() {
            self.locks.insert(path, number);
        } else {
            let _ = self.staging.release(self.git, number, &path);
            let _ = self.staging.unlink(number);
        }
        taken
    }

    /// Writes the new content of a locked file.
    pub fn write(&mut self, path: &Path, content: &[u8]) -> Result<(), TransactionError> {
        let number = self.locked(path)?;
        let location = self.location(path)?;
        match location.stat().at(path)?.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Some(FileType::Directory) => {
                location.remove_empty().map_err(|_| TransactionError::InTheWay(path.to_owned()))?;
            }
            None | Some(FileType::RegularFile) => {}
            Some(_) => return Err(TransactionError::WrongKind(path.to_owned())),
        }
        self.fill(number, &location, path, content).at(path)?;
        let step = Step::Replace { number, content: Content::of(content), path: path.to_owned() };
        self.steps.insert(path.to_owned(), step);
        Ok(())
    }

    /// Removes a locked file. If there is none, nothing is done.
    pub fn remove(&mut self, path: &Path) -> Result<(), TransactionError> {
        let number = self.locked(path)?;
        self.steps.insert(path.to_owned(), Step::Remove { number, path: path.to_owned() });
        Ok(())
    }

    /// Adds lines to the log of a reference that is locked, or of `HEAD`.
    pub fn append(&mut self, path: &Path, lines: &[u8]) -> Result<(), TransactionError> {
        let path = self.unlocked(path)?;
        let at = match self.find(&path)? {
            Some(stat) if files::is_file(&stat) => u64::try_from(stat.st_size).unwrap_or(0),
            // The log replaces an empty directory of its name.
            Some(_) | None => 0,
        };
        let content = Content::of(lines);
        let number = self.stage(&path, lines, 0o600)?;
        let step = Step::Append { number, content, at, path: path.clone() };
        self.steps.insert(path, step);
        Ok(())
    }

    /// Writes a file that git does not lock. A log is written only if its reference is locked.
    pub fn put(&mut self, path: &Path, content: &[u8], mode: u32) -> Result<(), TransactionError> {
        let path = self.unlocked(path)?;
        let mode = match self.find(&path)? {
            Some(stat) if files::is_file(&stat) => stat.st_mode & 0o777,
            Some(_) => return Err(TransactionError::InTheWay(path)),
            None => mode,
        };
        let number = self.stage(&path, content, mode)?;
        let step = Step::Put { number, content: Content::of(content), path: path.clone() };
        self.steps.insert(path, step);
        Ok(())
    }

    /// Removes a file that git does not lock, and the directories that are empty then. A file that somebody
    /// changes before the transaction is committed stays. A log goes only if its reference is locked.
    pub fn discard(&mut self, path: &Path) -> Result<(), TransactionError> {
        let path = self.unlocked(path)?;
        match self.find(&path)? {
            Some(stat) if files::is_file(&stat) => {
                let identity = Identity::from(&stat);
                self.steps.insert(path.clone(), Step::Discard { identity, path });
            }
            Some(_) => return Err(TransactionError::InTheWay(path)),
            None => {}
        }
        Ok(())
    }

    /// Takes the directory of a linked work tree away with everything in it, and `worktrees` if it is empty
    /// then. The caller has locked what others write in it.
    pub fn detach(&mut self, path: &Path) -> Result<(), TransactionError> {
        let path = target(path).filter(|path| path.components().count() == 2);
        let path = path.filter(|path| below_worktree(path).as_os_str().is_empty());
        let path = path.ok_or_else(|| TransactionError::Path(PathBuf::new()))?;
        let Some(stat) = self.find(&path)? else { return Ok(()) };
        if !files::is_directory(&stat) {
            return Err(TransactionError::InTheWay(path));
        }
        let (number, inode) = (self.next, Identity::from(&stat).inode);
        self.next += 1;
        self.steps.insert(path.clone(), Step::Detach { number, inode, path });
        Ok(())
    }

    /// Makes the changes. The caller has compared, under the locks, what it was going to replace. `Err`:
    /// nothing is changed. What could not be written after the point of no return is returned.
    pub fn commit(mut self) -> Result<Vec<Unfinished>, TransactionError> {
        let mut steps: Vec<Step> = std::mem::take(&mut self.steps).into_values().collect();
        step::sort(&mut steps);
        self.staging.decide(&steps).at(Path::new(staging::ALL))?;
        self.is_midway = true;
        let unfinished = execute(self.git, &self.staging, &steps, false);
        self.is_midway = false;
        Ok(unfinished)
    }

    fn take(&self, number: Number, path: &Path, mode: u32) -> Result<(), TransactionError> {
        self.staging.stage(number, &[], mode).at(path)?;
        self.staging.note(number, path).at(path)?;
        let mut tries = 0;
        let location = loop {
            let location = self.location(path)?;
            match self.staging.link(number, &location) {
                Ok(true) => break location,
                Ok(false) => return Err(TransactionError::Held(path.to_owned())),
                // Git removed the directory because it was empty.
                Err(error) if error.kind() == io::ErrorKind::NotFound && tries < 20 => tries += 1,
                Err(error) => {
                    return Err(match Errno::from_io_error(&error) {
                        Some(Errno::PERM | Errno::OPNOTSUPP | Errno::MLINK) => {
                            TransactionError::NoHardLinks
                        }
                        _ => TransactionError::Io { path: path.to_owned(), error },
                    });
                }
            }
        };
        match location.stat().at(path)? {
            Some(stat) if files::is_file(&stat) || files::is_directory(&stat) => Ok(()),
            Some(_) => Err(TransactionError::WrongKind(path.to_owned())),
            None => Ok(()),
        }
    }

    fn fill(
        &self,
        number: Number,
        location: &Location,
        path: &Path,
        content: &[u8],
    ) -> io::Result<()> {
        let file = self.staging.open(number)?;
        file.set_len(0)?;
        files::write(&file, content)?;
        if let Some(replaced) = location.stat()? {
            fchmod(&file, Mode::from_raw_mode(replaced.st_mode & 0o777))?;
        }
        // As git does: an empty reference after a crash of the machine is a lost branch.
        let own = below_worktree(path);
        if own.starts_with("refs") || own == Path::new("HEAD") || own == Path::new("packed-refs") {
            file.sync_data()?;
        }
        Ok(())
    }

    fn stage(
        &mut self,
        path: &Path,
        content: &[u8],
        mode: u32,
    ) -> Result<Number, TransactionError> {
        let number = self.next;
        self.next += 1;
        self.staging.stage(number, content, mode).at(path)?;
        Ok(number)
    }

    fn locked(&self, path: &Path) -> Result<Number, TransactionError> {
        let number = self.locks.get(path).copied();
        number.ok_or_else(|| TransactionError::NotLocked(path.to_owned()))
    }

    /// Checks the path of a file that has no lock of its own.
    fn unlocked(&self, path: &Path) -> Result<PathBuf, TransactionError> {
        let path = target(path).ok_or_else(|| TransactionError::Path(path.to_owned()))?;
        let own = below_worktree(&path);
        let is_locked_by_git = own.starts_with("refs")
            || ["HEAD", "index", "packed-refs", "config", "config.worktree", "shallow"]
                .iter()
                .any(|name| own == Path::new(name));
        // While `a` is locked, nobody makes `a/b`.
        let owner = owner_of_log(&path);
        let has_owner =
            |owner: &PathBuf| owner.ancestors().any(|path| self.locks.contains_key(path));
        if is_locked_by_git || owner.as_ref().is_some_and(|owner| !has_owner(owner)) {
            return Err(TransactionError::NotLocked(owner.unwrap_or(path)));
        }
        Ok(path)
    }

    /// What is at a path that is written without a lock of its own.
    fn find(&self, path: &Path) -> Result<Option<Stat>, TransactionError> {
        // A log that goes makes room for those below it.
        let makes_room = |step: &Step| matches!(step, Step::Discard { .. });
        if path.ancestors().skip(1).any(|parent| self.steps.get(parent).is_some_and(makes_room)) {
            return Ok(None);
        }
        let location = match files::locate(self.git, path) {
            Ok(Some(location)) => location,
            Ok(None) => return Ok(None),
            Err(error) => return Err(self.obstacle(path, error)),
        };
        match location.stat().at(path)? {
            Some(stat) if files::is_file(&stat) || files::is_directory(&stat) => Ok(Some(stat)),
            Some(_) => Err(TransactionError::WrongKind(path.to_owned())),
            None => Ok(None),
        }
    }

    /// The place of a file with a lock. Its directories are made.
    fn location(&self, path: &Path) -> Result<Location, TransactionError> {
        files::locate_or_make(self.git, path).map_err(|error| self.obstacle(path, error))
    }

    /// Why a path cannot be reached.
    fn obstacle(&self, path: &Path, error: io::Error) -> TransactionError {
        if Errno::from_io_error(&error) != Some(Errno::NOTDIR) {
            return TransactionError::Io { path: path.to_owned(), error };
        }
        let mut parents: Vec<&Path> = path.ancestors().skip(1).collect();
        parents.pop();
        let stat = |parent: &&Path| files::locate(self.git, parent).ok()??.stat().ok()?;
        let obstacle =
            parents.iter().rev().filter_map(stat).find(|stat| !files::is_directory(stat));
        match obstacle {
            Some(stat) if files::is_file(&stat) => TransactionError::InTheWay(path.to_owned()),
            _ => TransactionError::WrongKind(path.to_owned()),
        }
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.is_midway {
            // What cannot be removed now is removed by the next recovery.
            let _ = self.staging.remove(self.git);
        }
    }
}

trait At<T> {
    fn at(self, path: &Path) -> Result<T, TransactionError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: &Path) -> Result<T, TransactionError> {
        self.map_err(|error| TransactionError::Io { path: path.to_owned(), error })
    }
}

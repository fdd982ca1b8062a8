//! What belongs to an open database: the file, its log, the index of the log, the place of an older
//! kind of log, and the directory of the locks.
//!
//! As long as a database is open, none of them may be touched by the tools and commands of this
//! process: see [`toolwright_reserved`]. To be closed to a command a file has to be there, so all of
//! them are, from the opening on: `SQLite` keeps its own two while a connection is open, the place of
//! the older log is held by an empty file (which `SQLite` takes for none), and the directory of the
//! locks by a lock in it.
//!
//! Whether they are still the same is asked before and after each write: `SQLite` goes on writing to a
//! file that nobody will find again.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use toolwright_reserved::Reservation;

use crate::connection::beside;
use crate::lock_file::{identity_at, identity_of, unused_name};
use crate::{Identity, LockFile};

/// The names beside the file that `SQLite` gives a meaning.
pub(crate) const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];
/// How the name of the lock begins that keeps the directory of the locks.
const PRESENCE: &str = "open-";
/// `SQLite` makes the index of the log in pieces of this size, and never cuts it while it is open.
const INDEX_PIECE: u64 = 32 << 10;

/// See the module. Given back when dropped, which is to happen after the last connection is closed.
#[derive(Debug)]
pub struct OpenFiles {
    path: PathBuf,
    /// What a writer must still find in its place: the file, its log and the index of the log.
    known: Vec<(PathBuf, Option<Identity>)>,
    index: PathBuf,
    /// Whether the empty file is to go.
    writes: bool,
    _presence: Option<LockFile>,
    _reservation: Reservation,
}

impl OpenFiles {
    /// Of a database that a connection has open for writing, at its full name.
    #[must_use]
    pub fn of_writer(path: &Path) -> Self {
        let journal = beside(path, "-journal");
        // Where it cannot be made, nobody of this user can make it.
        let _ = OpenOptions::new().write(true).create_new(true).open(journal);
        let locks = beside(path, ".locks");
        let presence = LockFile::acquire(&locks, &unused_name(PRESENCE)).ok().flatten();
        Self::assembled(path, true, presence)
    }

    /// Of a database that is only read.
    #[must_use]
    pub fn of_reader(path: &Path) -> Self {
        Self::assembled(path, false, None)
    }

    fn assembled(path: &Path, writes: bool, presence: Option<LockFile>) -> Self {
        let index = beside(path, "-shm");
        let places = [path.to_owned(), beside(path, "-wal"), index.clone()];
        let known = places
            .into_iter()
            .map(|place| {
                let identity = identity_at(&place);
                (place, identity)
            })
            .collect();
        let reservation = toolwright_reserved::reserve(all(path));
        Self {
            path: path.to_owned(),
            known,
            index,
            writes,
            _presence: presence,
            _reservation: reservation,
        }
    }

    /// Finds one that is gone, is another file now, or was cut.
    pub fn check(&self) -> Result<(), PathBuf> {
        for (path, identity) in &self.known {
            let found = fs::metadata(path).ok();
            if found.as_ref().map(identity_of) != *identity {
                return Err(path.clone());
            }
            if *path == self.index && found.is_some_and(|found| found.len() < INDEX_PIECE) {
                return Err(path.clone());
            }
        }
        Ok(())
    }

    /// Closes the connection that writes.
    pub fn close(&self, connection: Connection) -> Result<(), Unclosed> {
        if let Err(cut) = self.check_index() {
            std::mem::forget(connection);
            return Err(Unclosed::Cut(cut));
        }
        connection.close().map_err(|(_, error)| Unclosed::Failed(error))
    }

    /// Finds that the index of the log was cut. It is mapped, and touching what is not there any more
    /// would end this process.
    pub fn check_index(&self) -> Result<(), PathBuf> {
        if self.known.iter().any(|(path, known)| *path == self.index && known.is_some())
            && is_cut(&self.index)
        {
            return Err(self.index.clone());
        }
        Ok(())
    }
}

/// Why a connection was not closed.
#[derive(Debug)]
pub enum Unclosed {
    /// This was cut, and the last connection moves the log when it is closed. It is given up as it is.
    Cut(PathBuf),
    /// What `SQLite` said.
    Failed(rusqlite::Error),
}

impl Drop for OpenFiles {
    fn drop(&mut self) {
        // The last one to close a database removes its log. Until then others need the place held.
        if self.writes && beside(&self.path, "-wal").symlink_metadata().is_err() {
            let journal = beside(&self.path, "-journal");
            let found = journal.symlink_metadata();
            if found.is_ok_and(|found| found.is_file() && found.len() == 0) {
                let _ = fs::remove_file(journal);
            }
        }
    }
}

/// Whether the index of a log that is open was cut.
pub(crate) fn is_cut(index: &Path) -> bool {
    fs::metadata(index).is_ok_and(|found| found.len() < INDEX_PIECE)
}

/// Everything that belongs to the database at `path`.
fn all(path: &Path) -> Vec<PathBuf> {
    let mut all = vec![path.to_owned(), beside(path, ".locks")];
    all.extend(BESIDE.map(|suffix| beside(path, suffix)));
    all
}

//! The files of an open database: the file, its log, the index of the log, the name of a rollback
//! journal, and the directory of the locks.
//!
//! While a database is open, the tools and commands of this process may touch none of them: see
//! [`toolwright_reserved`]. A file can be closed to a command only if it is there, so all of them are,
//! from the opening on. `SQLite` keeps its own two while a connection is open. An empty file holds the
//! name of the rollback journal, and `SQLite` takes it for none. A lock keeps the directory of the locks.
//!
//! Each write checks before and after whether they are still the same: `SQLite` would go on writing to a
//! file that has lost its name.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use toolwright_reserved::Reservation;

use crate::path::beside;
use crate::{FileId, LockFile, SqliteError, SqliteErrorKind};

/// The suffixes of the files that `SQLite` itself keeps beside a database.
pub(crate) const SUFFIXES: [&str; 3] = ["-wal", "-shm", "-journal"];
/// The prefix of the lock that keeps the directory of the locks.
const PRESENCE: &str = "open-";
/// `SQLite` grows the index of the log in pieces of this size, and never cuts it while it is open.
const INDEX_PIECE: u64 = 32 << 10;

/// See the module. Drop it after the last connection is closed.
#[derive(Debug)]
pub(crate) struct OpenFiles {
    path: PathBuf,
    /// What each write must still find in place: the file, its log and the index of the log.
    known: Vec<(Option<FileId>, PathBuf)>,
    index: PathBuf,
    /// Whether to remove the empty file at the end.
    writes: bool,
    _presence: Option<LockFile>,
    _reservation: Reservation,
}

impl OpenFiles {
    /// Of a database that a connection has open for writing, under its full name.
    pub(crate) fn of_writer(path: &Path) -> Self {
        let journal = beside(path, "-journal");
        // Where this fails, no process of this user can create it either.
        let _ = OpenOptions::new().write(true).create_new(true).open(journal);
        let locks = beside(path, ".locks");
        let presence = LockFile::acquire_new(&locks, PRESENCE).ok().map(|(_, lock)| lock);
        Self::with_presence(path, true, presence)
    }

    /// Of a database that is only read.
    pub(crate) fn of_reader(path: &Path) -> Self {
        Self::with_presence(path, false, None)
    }

    fn with_presence(path: &Path, writes: bool, presence: Option<LockFile>) -> Self {
        let index = beside(path, "-shm");
        let places = [path.to_owned(), beside(path, "-wal"), index.clone()];
        Self {
            path: path.to_owned(),
            known: places.map(|path| (FileId::at(&path), path)).into(),
            index,
            writes,
            _presence: presence,
            _reservation: toolwright_reserved::reserve(all(path)),
        }
    }

    /// Fails if a file is gone, was replaced, or was cut.
    pub(crate) fn check(&self) -> Result<(), SqliteError> {
        for (identity, path) in &self.known {
            let metadata = fs::metadata(path).ok();
            let is_cut = metadata.as_ref().is_some_and(|metadata| metadata.len() < INDEX_PIECE);
            if metadata.as_ref().map(FileId::from) != *identity || (*path == self.index && is_cut) {
                return Err(SqliteErrorKind::Removed.at(path));
            }
        }
        Ok(())
    }

    /// Closes the connection that writes. If the index was cut, it stays open: the last connection moves
    /// the log when it is closed.
    pub(crate) fn close(&self, connection: Connection) -> Result<(), SqliteError> {
        if let Err(cut) = self.check_index() {
            std::mem::forget(connection);
            return Err(cut);
        }
        connection.close().map_err(|(_, error)| SqliteError::of(&self.path, "closing", &error))
    }

    /// Fails if the index of the log was cut. It is mapped, and touching a part that is gone would end
    /// this process.
    pub(crate) fn check_index(&self) -> Result<(), SqliteError> {
        if self.known.iter().any(|(known, path)| *path == self.index && known.is_some())
            && is_cut(&self.index)
        {
            return Err(SqliteErrorKind::Removed.at(&self.index));
        }
        Ok(())
    }
}

impl Drop for OpenFiles {
    fn drop(&mut self) {
        // The last process to close a database removes its log. Until then others need the name held.
        if self.writes && beside(&self.path, "-wal").symlink_metadata().is_err() {
            let journal = beside(&self.path, "-journal");
            let metadata = journal.symlink_metadata();
            if metadata.is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0) {
                let _ = fs::remove_file(journal);
            }
        }
    }
}

/// Whether the index of a log that is open was cut.
pub(crate) fn is_cut(index: &Path) -> bool {
    fs::metadata(index).is_ok_and(|metadata| metadata.len() < INDEX_PIECE)
}

/// Everything that belongs to the database at `path`.
fn all(path: &Path) -> Vec<PathBuf> {
    let mut all = vec![path.to_owned(), beside(path, ".locks")];
    all.extend(SUFFIXES.map(|suffix| beside(path, suffix)));
    all
}

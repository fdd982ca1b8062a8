//! The store: opening, reading, writing, closing. The modules named after what they store have the rest.

use std::fmt::Display;
use std::path::Path;
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use toolwright_sqlite::sync::lock;
use toolwright_sqlite::{Database, Location, LockFile, SqliteErrorKind};

use crate::error::Failure;
use crate::schema::Tables;
use crate::{Options, ThreadError, staging};

/// Threads in a file that several processes share, or in memory. Used from any number of threads of
/// the process at once.
///
/// Dropping it closes it; [`Store::close`] also reports what went wrong.
#[derive(Debug)]
pub struct Store {
    pub(crate) database: Database,
    pub(crate) options: Options,
    /// The lock by which other processes see that attachments staged by this store may still be
    /// committed, and its name.
    pub(crate) stager: Mutex<Option<(String, LockFile)>>,
    /// Held while closing, so that a second caller waits for the first.
    closing: Mutex<()>,
}

impl Store {
    /// Opens a store. A file is created, unless it is opened for reading only. Within one process only
    /// this crate may open the file, any number of times: see [`Database::open`].
    pub fn open(location: &Location, options: Options) -> Result<Self, ThreadError> {
        let (database, _) = Database::open::<Tables>(location, options.database())?;
        let (stager, closing) = (Mutex::default(), Mutex::default());
        let store = Self { database, options, stager, closing };
        staging::sweep(&store);
        Ok(store)
    }

    /// The file, or `memory:`.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.database.path()
    }

    /// Removes what is staged and closes the file. Closing again does nothing. Workers keep their
    /// threads until they are dropped.
    pub fn close(&self) -> Result<(), ThreadError> {
        let _closing = lock(&self.closing);
        let swept = staging::discard_own(self);
        let closed = self.database.close();
        swept.and(closed.map_err(ThreadError::from))
    }

    /// Runs `act` in a transaction: see [`Database::transaction`].
    pub(crate) fn write<T>(
        &self,
        operation: &'static str,
        act: impl FnMut(&Connection) -> Result<T, Failure>,
    ) -> Result<T, ThreadError> {
        self.database.transaction(operation, act)
    }

    /// Runs `act` on one state of the database: see [`Database::read`].
    pub(crate) fn read<T>(
        &self,
        operation: &'static str,
        act: impl FnMut(&Connection) -> Result<T, Failure>,
    ) -> Result<T, ThreadError> {
        self.database.read(operation, act)
    }

    /// The error for rows that do not fit together.
    pub(crate) fn corrupt(&self, reason: impl Display) -> ThreadError {
        SqliteErrorKind::Corrupt.because(self.path(), reason).into()
    }

    /// Fails for a text that is too large.
    pub(crate) fn check_text(&self, what: &str, text: &str) -> Result<(), ThreadError> {
        let limit = self.options.text_limit;
        if text.len() <= limit {
            return Ok(());
        }
        let what = format!("{what} of {} bytes", text.len());
        Err(ThreadError::TooLarge { what, limit: limit as u64 })
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

/// A store that several threads of the process use.
pub(crate) type Shared = Arc<Store>;

//! One file, or a database in memory, with all of its connections.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, TryLockError};
use std::time::Instant;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::checkpoint::Checkpointer;
use crate::connection::{self, Source};
use crate::error::TxError;
use crate::open_files::OpenFiles;
use crate::path::{absolute, beside};
use crate::readers::Readers;
use crate::schema::{self, Schema};
use crate::sync::lock;
use crate::writer::WriterGuard;
use crate::{Access, BusyTimeout, Location, Options, SqliteError, SqliteErrorKind};

/// A database that several processes share, or one in memory. Used from any number of threads at once.
///
/// Dropping it closes it; [`Database::close`] also reports what went wrong.
#[derive(Debug)]
pub struct Database {
    path: PathBuf,
    busy_timeout: BusyTimeout,
    /// `None` for a database that is only read; in it `None` after closing.
    writer: Option<Mutex<Option<Connection>>>,
    /// `None` in memory.
    readers: Option<Readers>,
    /// `None` in memory, and for a database that is only read.
    pub(crate) checkpointer: Option<Checkpointer>,
    /// The directory of the locks; `None` in memory, and for a database that is only read.
    locks: Option<PathBuf>,
    /// The names that are locked in memory.
    pub(crate) memory_locks: Arc<Mutex<HashSet<String>>>,
    /// The files while they are open; none in memory.
    files: Mutex<Option<Arc<OpenFiles>>>,
    is_closed: AtomicBool,
    /// Held while closing, so that a second caller waits for the first.
    closing: Mutex<()>,
}

impl Database {
    /// Opens a database and completes the tables of `S`. A file is created, unless it is opened for
    /// reading only.
    ///
    /// Within one process the file must be opened by this crate alone, any number of times: a second
    /// copy of `SQLite` that closes the same file releases the locks of this one. See
    /// <https://www.sqlite.org/howtocorrupt.html>, 2.2.
    pub fn open<S: Schema>(
        location: &Location,
        options: Options,
    ) -> Result<(Self, S::State), SqliteError> {
        match (location, options.access) {
            (Location::Memory, _) => Self::in_memory::<S>(options),
            (Location::File(path), Access::ReadWrite) => Self::for_writing::<S>(path, options),
            (Location::File(path), Access::ReadOnly) => Self::for_reading::<S>(path, options),
        }
    }

    fn in_memory<S: Schema>(options: Options) -> Result<(Self, S::State), SqliteError> {
        let mut connection = connection::memory()?;
        let path = PathBuf::from("memory:");
        let (access, busy) = (Access::ReadWrite, options.busy_timeout);
        let state = schema::complete::<S>(&mut connection, &path, access, busy)?;
        let mut database = Self::without_connections(path, busy);
        database.writer = Some(Mutex::new(Some(connection)));
        Ok((database, state))
    }

    fn for_writing<S: Schema>(
        path: &Path,
        options: Options,
    ) -> Result<(Self, S::State), SqliteError> {
        let Options { access, synchronous, busy_timeout: busy } = options;
        let mut connection = connection::writer(path, synchronous, busy)?;
        let state = schema::complete::<S>(&mut connection, path, access, busy)?;
        let path = absolute(path);
        let mut database = Self::without_connections(path.clone(), busy);
        database.writer = Some(Mutex::new(Some(connection)));
        database.readers = Some(Readers::new(path.clone(), Source::File(path.clone()), busy));
        database.checkpointer = Some(Checkpointer::new(&path, synchronous));
        database.locks = Some(beside(&path, ".locks"));
        database.files = Mutex::new(Some(Arc::new(OpenFiles::of_writer(&path))));
        Ok((database, state))
    }

    fn for_reading<S: Schema>(
        path: &Path,
        options: Options,
    ) -> Result<(Self, S::State), SqliteError> {
        let Options { access, busy_timeout: busy, .. } = options;
        let (mut connection, source) = connection::first_reader(path, busy)?;
        let state = schema::complete::<S>(&mut connection, path, access, busy)?;
        let path = absolute(path);
        let readers = Readers::new(path.clone(), source, busy);
        readers.keep(connection);
        let mut database = Self::without_connections(path.clone(), busy);
        database.readers = Some(readers);
        database.files = Mutex::new(Some(Arc::new(OpenFiles::of_reader(&path))));
        Ok((database, state))
    }

    fn without_connections(path: PathBuf, busy_timeout: BusyTimeout) -> Self {
        Self {
            path,
            busy_timeout,
            writer: None,
            readers: None,
            checkpointer: None,
            locks: None,
            memory_locks: Arc::default(),
            files: Mutex::default(),
            is_closed: AtomicBool::new(false),
            closing: Mutex::default(),
        }
    }

    /// The file under its full name, or `memory:`.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory of the locks; `None` in memory, and for a database that is only read.
    #[must_use]
    pub fn locks(&self) -> Option<&Path> {
        self.locks.as_deref()
    }

    /// Where those who write have their locks, for a reader too; `None` in memory.
    #[must_use]
    pub fn locks_of_writers(&self) -> Option<PathBuf> {
        (!self.is_in_memory()).then(|| beside(&self.path, ".locks"))
    }

    /// Whether the database is gone with its process.
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        self.readers.is_none()
    }

    /// Fails for a database that is only read, and for one that is closed. Never waits.
    pub fn check_writable(&self) -> Result<(), SqliteError> {
        self.writer_slot()?;
        if self.is_closed.load(Ordering::Acquire) { Err(self.closed()) } else { Ok(()) }
    }

    /// The connection that writes, for this caller alone. Waits for other threads.
    pub fn writer(&self) -> Result<WriterGuard<'_>, SqliteError> {
        let started = Instant::now();
        WriterGuard::new(self, lock(self.writer_slot()?), started, self.busy_timeout)
    }

    /// As [`Database::writer`], or `None` while another thread has it. Its calls hardly wait for other
    /// processes.
    pub fn try_writer_nowait(&self) -> Result<Option<WriterGuard<'_>>, SqliteError> {
        let guard = match self.writer_slot()?.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(guard)) => guard.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(None),
        };
        WriterGuard::new(self, guard, Instant::now(), BusyTimeout::MINIMAL).map(Some)
    }

    fn writer_slot(&self) -> Result<&Mutex<Option<Connection>>, SqliteError> {
        self.writer.as_ref().ok_or_else(|| SqliteErrorKind::ReadOnly.at(&self.path))
    }

    /// Runs `act` in a transaction that no other writer enters: all of it or, on an error, nothing. It
    /// may run again when another process was faster.
    pub fn transaction<T, E: From<SqliteError>, X: Into<TxError<E>>>(
        &self,
        operation: &'static str,
        act: impl FnMut(&Connection) -> Result<T, X>,
    ) -> Result<T, E> {
        self.writer()?.transaction(operation, act)
    }

    /// Runs `act` on one state of the database, perhaps more than once.
    pub fn read<T, E: From<SqliteError>, X: Into<TxError<E>>>(
        &self,
        operation: &'static str,
        mut act: impl FnMut(&Connection) -> Result<T, X>,
    ) -> Result<T, E> {
        let files = lock(&self.files).clone();
        files.as_deref().map_or(Ok(()), OpenFiles::check_index)?;
        let act = |connection: &Connection| {
            let transaction =
                Transaction::new_unchecked(connection, TransactionBehavior::Deferred)?;
            match act(&transaction).map_err(X::into) {
                Ok(value) => Ok(Ok(value)),
                Err(TxError::Sql(error)) => Err(error),
                Err(TxError::Abort(error)) => Ok(Err(error)),
            }
        };
        match &self.readers {
            Some(readers) => readers.read(operation, act)?,
            None => self.writer()?.retry(operation, act)?,
        }
    }

    /// Closes every connection. Closing again does nothing. Locks stay until they are dropped.
    pub fn close(&self) -> Result<(), SqliteError> {
        let _closing = lock(&self.closing);
        self.is_closed.store(true, Ordering::Release);
        if let Some(readers) = &self.readers {
            readers.close();
        }
        if let Some(checkpointer) = &self.checkpointer {
            checkpointer.close();
        }
        let connection = self.writer.as_ref().and_then(|writer| lock(writer).take());
        let files = lock(&self.files).clone();
        let closed = match (connection, files) {
            (Some(connection), Some(files)) => files.close(connection),
            // In memory there is nothing that closing could lose.
            (connection, _) => {
                drop(connection);
                Ok(())
            }
        };
        // Not before: the files are reserved because connections have them open.
        drop(lock(&self.files).take());
        closed
    }

    /// Fails if a file of the database was removed, replaced or cut.
    pub(crate) fn check_files(&self) -> Result<(), SqliteError> {
        lock(&self.files).as_deref().map_or(Ok(()), OpenFiles::check)
    }

    pub(crate) fn closed(&self) -> SqliteError {
        SqliteErrorKind::Closed.at(&self.path)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

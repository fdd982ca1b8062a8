//! The store: opening, reading, writing, closing. What is read and written is in the files named
//! after it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use toolwright_sqlite::connection::{self, absolute, beside, log_pages};
use toolwright_sqlite::{
    Checkpoint, Location, LockFile, LogGrowth, OpenFiles, Patience, Readers, Source, SqliteError,
    Unclosed,
};

use crate::error::Failure;
use crate::{Access, Options, ThreadError, schema, staging};

/// Threads in a file that several processes share, or in memory. Used from any number of threads of
/// the process at once.
///
/// Dropping it closes it; [`Store::close`] does so too, and tells what went wrong.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    pub(crate) options: Options,
    patience: Patience,
    /// `None` for a store that is only read; in it `None` after closing.
    writer: Option<Mutex<Option<Connection>>>,
    /// `None` for a store in memory.
    readers: Option<Readers>,
    checkpoint: Option<Arc<Mutex<Checkpoint>>>,
    log: LogGrowth,
    /// Where locks are; `None` in memory.
    locks: Option<PathBuf>,
    /// The files, as long as they are open; none in memory.
    files: Mutex<Option<Arc<OpenFiles>>>,
    /// The threads that are worked on, of a store in memory.
    pub(crate) memory_locks: Mutex<HashSet<String>>,
    /// What tells other processes that attachments staged by this store may still be committed.
    pub(crate) stager: Mutex<Option<(String, LockFile)>>,
    /// Held while closing, so that who closes it a second time waits for the first.
    closing: Mutex<()>,
}

impl Store {
    /// Opens a store. A file is created, unless it is opened for reading only.
    ///
    /// Within one process the file must be opened by this crate alone, any number of times: a second
    /// copy of `SQLite` that closes the same file takes the locks of this one with it. See
    /// <https://www.sqlite.org/howtocorrupt.html>, 2.2.
    pub fn open(location: &Location, options: Options) -> Result<Self, ThreadError> {
        match (location, options.access) {
            (Location::Memory, _) => Self::in_memory(options),
            (Location::File(path), Access::ReadWrite) => Self::for_writing(path, options),
            (Location::File(path), Access::ReadOnly) => Self::for_reading(path, options),
        }
    }

    fn in_memory(options: Options) -> Result<Self, ThreadError> {
        let mut connection = connection::memory()?;
        let path = PathBuf::from("memory:");
        schema::complete(&mut connection, &path, Patience(options.patience))?;
        let mut store = Self::assembled(path, options);
        store.writer = Some(Mutex::new(Some(connection)));
        Ok(store)
    }

    fn for_writing(path: &Path, options: Options) -> Result<Self, ThreadError> {
        let (patience, synchronous) = (Patience(options.patience), options.synchronous);
        let mut connection = connection::writer(path, synchronous, patience)?;
        schema::complete(&mut connection, path, patience)?;
        let path = absolute(path);
        let mut store = Self::assembled(path.clone(), options);
        store.writer = Some(Mutex::new(Some(connection)));
        store.readers = Some(Readers::new(path.clone(), Source::File(path.clone()), patience));
        let checkpoint = Checkpoint::new(&path, synchronous);
        store.checkpoint = Some(Arc::new(Mutex::new(checkpoint)));
        store.locks = Some(beside(&path, ".locks"));
        store.files = Mutex::new(Some(Arc::new(OpenFiles::of_writer(&path))));
        staging::sweep(&store);
        Ok(store)
    }

    fn for_reading(path: &Path, options: Options) -> Result<Self, ThreadError> {
        let patience = Patience(options.patience);
        let (connection, source) = connection::first_reader(path, patience)?;
        schema::existing(&connection, path, patience)?;
        let path = absolute(path);
        let mut store = Self::assembled(path.clone(), options);
        store.files = Mutex::new(Some(Arc::new(OpenFiles::of_reader(&path))));
        let readers = Readers::new(path, source, patience);
        readers.keep(connection);
        store.readers = Some(readers);
        Ok(store)
    }

    fn assembled(path: PathBuf, options: Options) -> Self {
        Self {
            path,
            patience: Patience(options.patience),
            options,
            writer: None,
            readers: None,
            checkpoint: None,
            log: LogGrowth::default(),
            locks: None,
            files: Mutex::default(),
            memory_locks: Mutex::default(),
            stager: Mutex::default(),
            closing: Mutex::default(),
        }
    }

    /// The file, or `memory:`.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes what is staged and closes the file. Closing again does nothing. Workers keep their
    /// right until they are dropped.
    pub fn close(&self) -> Result<(), ThreadError> {
        let _closing = unpoisoned(&self.closing);
        let swept = staging::end(self);
        if let Some(readers) = &self.readers {
            readers.close();
        }
        if let Some(checkpoint) = &self.checkpoint {
            unpoisoned(checkpoint).close();
        }
        let connection = self.writer.as_ref().and_then(|writer| unpoisoned(writer).take());
        let closed = connection.map_or(Ok(()), |connection| {
            match unpoisoned(&self.files).as_deref().map_or(Ok(()), |files| files.close(connection))
            {
                Ok(()) => Ok(()),
                Err(Unclosed::Cut(path)) => Err(ThreadError::Removed { path }),
                Err(Unclosed::Failed(error)) => {
                    Err(SqliteError::of(&self.path, "closing", error).into())
                }
            }
        });
        // Not before: what is reserved is so because connections have it open.
        drop(unpoisoned(&self.files).take());
        swept.and(closed)
    }

    /// Whether it was closed; one that is only read is asked when it is read.
    pub(crate) fn is_closed(&self) -> bool {
        self.writer.as_ref().is_some_and(|writer| unpoisoned(writer).is_none())
    }

    /// The directory of the locks; `None` in memory.
    pub(crate) fn locks(&self) -> Option<&Path> {
        self.locks.as_deref()
    }

    /// Fails where the store is only read.
    pub(crate) fn check_writable(&self) -> Result<(), ThreadError> {
        self.writer().map(|_| ())
    }

    fn writer(&self) -> Result<&Mutex<Option<Connection>>, ThreadError> {
        let read_only = || SqliteError::ReadOnly { path: self.path.clone() }.into();
        self.writer.as_ref().ok_or_else(read_only)
    }

    fn closed(&self) -> ThreadError {
        SqliteError::Closed { path: self.path.clone() }.into()
    }

    /// Runs `act` in a transaction that no other writer comes into: all of it or, on an error,
    /// nothing. It may be run again when another process was faster.
    pub(crate) fn write<T>(
        &self,
        operation: &'static str,
        mut act: impl FnMut(&Connection) -> Result<T, Failure>,
    ) -> Result<T, ThreadError> {
        let started = Instant::now();
        let guard = unpoisoned(self.writer()?);
        let connection = guard.as_ref().ok_or_else(|| self.closed())?;
        // Those who have waited for their turn do not wait as long again.
        let patience = Patience(self.patience.0.saturating_sub(started.elapsed()));
        // A tool may well remove the file (`git clean`), and to touch the index of a log that was cut
        // would end the process.
        self.check_files()?;
        let written = patience.retry(&self.path, operation, || {
            let transaction =
                Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
            match act(&transaction) {
                Ok(value) => transaction.commit().map(|()| Ok(value)),
                // The transaction is undone when dropped.
                Err(Failure::Sql(error)) => Err(error),
                Err(Failure::Told(error)) => Ok(Err(error)),
            }
        });
        let is_due = self.log.is_due(log_pages());
        drop(guard);
        if is_due {
            self.move_log();
        }
        // What was written is told only if it is where others will find it.
        self.check_files()?;
        match written {
            Err(SqliteError::Busy { path, .. }) => {
                Err(SqliteError::Busy { path, waited: started.elapsed() }.into())
            }
            written => written?,
        }
    }

    fn check_files(&self) -> Result<(), ThreadError> {
        let files = unpoisoned(&self.files);
        let checked = files.as_deref().map_or(Ok(()), OpenFiles::check);
        checked.map_err(|path| ThreadError::Removed { path })
    }

    /// Has the log moved into the database, on a thread of its own: it waits for the disk, and who has
    /// written need not.
    fn move_log(&self) {
        let Some(checkpoint) = &self.checkpoint else { return };
        let run = |checkpoint: &Mutex<Checkpoint>| {
            // One does it. After closing there is nothing left to do.
            if let Ok(mut checkpoint) = checkpoint.try_lock() {
                checkpoint.run();
            }
        };
        let shared = Arc::clone(checkpoint);
        let thread = thread::Builder::new().name("toolwright-log".to_owned());
        if thread.spawn(move || run(&shared)).is_err() {
            run(checkpoint);
        }
    }

    /// Runs `act` on one state of the database, perhaps more than once.
    pub(crate) fn read<T>(
        &self,
        operation: &'static str,
        mut act: impl FnMut(&Connection) -> Result<T, Failure>,
    ) -> Result<T, ThreadError> {
        let mut within = |connection: &Connection| {
            let transaction =
                Transaction::new_unchecked(connection, TransactionBehavior::Deferred)?;
            match act(&transaction) {
                Ok(value) => Ok(Ok(value)),
                Err(Failure::Sql(error)) => Err(error),
                Err(Failure::Told(error)) => Ok(Err(error)),
            }
        };
        let files = unpoisoned(&self.files).clone();
        if let Some(Err(path)) = files.as_deref().map(OpenFiles::check_index) {
            return Err(ThreadError::Removed { path });
        }
        match (&self.readers, &self.writer) {
            (Some(readers), _) => readers.read::<_, ThreadError>(operation, within)?,
            (None, Some(writer)) => {
                let guard = unpoisoned(writer);
                let connection = guard.as_ref().ok_or_else(|| self.closed())?;
                self.patience.retry(&self.path, operation, || within(connection))?
            }
            (None, None) => Err(self.closed()),
        }
    }

    /// What is wrong with rows that do not fit together.
    pub(crate) fn corrupt(&self, reason: impl Into<String>) -> ThreadError {
        SqliteError::Corrupt { path: self.path.clone(), reason: reason.into() }.into()
    }

    /// Whether a text is small enough.
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

/// What the locks of this crate guard is changed by single calls, and whole after a panic.
pub(crate) fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

pub(crate) fn now_ms() -> i64 {
    i64::try_from(since_1970().as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn now_us() -> i64 {
    i64::try_from(since_1970().as_micros()).unwrap_or(i64::MAX)
}

/// A store that several threads of the process use.
pub(crate) type Shared = Arc<Store>;

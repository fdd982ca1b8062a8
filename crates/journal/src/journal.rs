//! The journal: opening, writing, closing. Reading is in [`queries`](crate::queries) and the files
//! named after what they read.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

use rusqlite::Connection;
use toolwright_sqlite::connection::{self, absolute, beside};
use toolwright_sqlite::{Checkpoint, LockFile, OpenFiles, Patience, Readers, Source, Unclosed};

use crate::behind::Behind;
use crate::owner::Candidate;
use crate::statements::End;
use crate::writer::{Work, Writer};
use crate::{
    Access, CallRef, Finish, Intent, JournalError, Location, Options, TaskId, columns, schema,
};

/// Recorded calls, in a file that several processes share or in memory. Used from any number of
/// threads at once.
///
/// Dropping it closes it; [`Journal::close`] does so too, and tells what went wrong.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    pub(crate) options: Options,
    /// `None` for a journal that is only read.
    writer: Option<Arc<Writer>>,
    /// `None` for a journal in memory.
    readers: Option<Readers>,
    pub(crate) behind: Arc<Behind>,
    /// Where locks are; `None` in memory.
    locks: Option<PathBuf>,
    /// The files, as long as they are open; none in memory.
    files: Mutex<Option<Arc<OpenFiles>>>,
    /// The columns to select, by what the table has.
    pub(crate) columns: String,
    pub(crate) outline_columns: String,
    owner: OnceLock<i64>,
    owner_lock: Mutex<Option<LockFile>>,
    /// Held while closing, so that who closes it a second time waits for the first.
    closing: Mutex<()>,
    /// Calls that began and have no outcome yet.
    open_calls: AtomicI64,
    /// The tasks locked in memory.
    pub(crate) memory_locks: Arc<Mutex<HashSet<TaskId>>>,
}

impl Journal {
    /// Opens a journal. A file is created, or brought up to date, unless it is opened for reading
    /// only.
    ///
    /// Within one process the file must be opened by this crate alone, any number of times. A
    /// second copy of `SQLite` (`bun:sqlite`, `node:sqlite`) that closes the same file takes the
    /// locks of this one with it, and the file can be damaged; other processes may use what they
    /// like. See <https://www.sqlite.org/howtocorrupt.html>, 2.2.
    pub fn open(location: &Location, options: Options) -> Result<Self, JournalError> {
        match (location, options.access) {
            (Location::Memory, _) => Self::in_memory(options),
            (Location::File(path), Access::ReadWrite) => Self::for_writing(path, options),
            (Location::File(path), Access::ReadOnly) => Self::for_reading(path, options),
        }
    }

    fn in_memory(options: Options) -> Result<Self, JournalError> {
        let mut connection = connection::memory()?;
        let (path, patience) = (PathBuf::from("memory:"), Patience(options.patience));
        let columns = schema::complete(&mut connection, &path, patience)?;
        let mut journal = Self::assembled(path, options, &columns);
        journal.writer = Some(Arc::new(Writer::new(journal.path.clone(), connection, patience)));
        Ok(journal)
    }

    fn for_writing(path: &Path, options: Options) -> Result<Self, JournalError> {
        let patience = Patience(options.patience);
        let mut connection = connection::writer(path, options.synchronous, patience)?;
        let columns = schema::complete(&mut connection, path, patience)?;
        let path = absolute(path);
        let files = Arc::new(OpenFiles::of_writer(&path));
        let mut journal = Self::assembled(path.clone(), options, &columns);
        let writer = Writer::new(path.clone(), connection, patience);
        journal.writer = Some(Arc::new(writer.with_files(Arc::clone(&files))));
        journal.readers = Some(Readers::new(path.clone(), Source::File(path.clone()), patience));
        journal.locks = Some(beside(&path, ".locks"));
        journal.files = Mutex::new(Some(files));
        Ok(journal)
    }

    fn for_reading(path: &Path, options: Options) -> Result<Self, JournalError> {
        let patience = Patience(options.patience);
        let (connection, source) = connection::first_reader(path, patience)?;
        let columns = schema::existing(&connection, path, patience)?;
        let path = absolute(path);
        let mut journal = Self::assembled(path.clone(), options, &columns);
        journal.files = Mutex::new(Some(Arc::new(OpenFiles::of_reader(&path))));
        let readers = Readers::new(path, source, patience);
        readers.keep(connection);
        journal.readers = Some(readers);
        Ok(journal)
    }

    fn assembled(path: PathBuf, options: Options, columns: &[String]) -> Self {
        Self {
            behind: Arc::new(Behind::new(path.clone(), options.flush_within, options.queue_rows)),
            path,
            options,
            writer: None,
            readers: None,
            locks: None,
            files: Mutex::default(),
            columns: columns::select_list(columns),
            outline_columns: columns::outline_list(columns),
            owner: OnceLock::new(),
            owner_lock: Mutex::default(),
            closing: Mutex::default(),
            open_calls: AtomicI64::new(0),
            memory_locks: Arc::default(),
        }
    }

    /// The file, or `memory:`.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Records that a call begins, with status `started`. The row is on disk when this returns, and
    /// so before the call has done anything.
    pub fn begin(&self, intent: Intent) -> Result<CallRef, JournalError> {
        let writer = self.writer()?;
        let owner = self.owner()?;
        let (attempt, seq, started_at_ms) = (intent.attempt, intent.seq, intent.started_at_ms);
        let work = Work::Insert { intent: Box::new(intent), owner, end: None };
        let row = writer.write(work)?;
        self.count_open(1);
        self.tend_log();
        Ok(CallRef { row, attempt, seq, started_at_ms })
    }

    /// Records the outcome of a call that began. It is on disk when this returns.
    pub fn finish(&self, call: CallRef, finish: Finish) -> Result<(), JournalError> {
        let end = End::new(finish, self.options.output_limit);
        self.writer()?.write(Work::Finish { call, end })?;
        self.count_open(-1);
        self.tend_log();
        Ok(())
    }

    /// Records a call that is over, in one row. One without a side effect is written behind: within
    /// [`Options::flush_within`], and before the journal is closed or listed; a process that is
    /// killed before loses it. One with a side effect is on disk when this returns.
    pub fn record(&self, intent: Intent, finish: Finish) -> Result<(), JournalError> {
        let writer = self.writer()?;
        let end = End::new(finish, self.options.output_limit);
        let bytes = end.len() + intent.input_json.as_ref().map_or(0, String::len);
        let behind = !intent.side_effect;
        let work = Work::Insert { intent: Box::new(intent), owner: None, end: Some(end) };
        if behind && self.start_thread(writer) {
            return self.behind.push(work, bytes);
        }
        writer.write(work)?;
        self.tend_log();
        Ok(())
    }

    /// Waits until everything recorded so far is on disk.
    pub fn flush(&self) -> Result<(), JournalError> {
        self.behind.flush()
    }

    /// Writes what waits, and closes the file. Calls that are still running have no outcome in the
    /// journal; whoever recovers it finds them. Closing again does nothing.
    pub fn close(&self) -> Result<(), JournalError> {
        let _closing = self.closing.lock().unwrap_or_else(PoisonError::into_inner);
        let flushed = self.behind.stop();
        let ended = self.end_owner();
        if let Some(readers) = &self.readers {
            readers.close();
        }
        let connection = self.writer.as_ref().and_then(|writer| writer.close());
        let closed = connection.map_or(Ok(()), |connection| {
            let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
            match files.as_deref().map_or(Ok(()), |files| files.close(connection)) {
                Ok(()) => Ok(()),
                Err(Unclosed::Cut(path)) => Err(JournalError::Removed { path }),
                Err(Unclosed::Failed(error)) => Err(JournalError::of(&self.path, "closing", error)),
            }
        });
        // Not before: what is reserved is so because connections have it open.
        drop(self.files.lock().unwrap_or_else(PoisonError::into_inner).take());
        flushed.and(ended).and(closed)
    }

    /// An owner whose calls all have their outcome needs no recovery.
    fn end_owner(&self) -> Result<(), JournalError> {
        let Some(lock) = self.owner_lock().take() else { return Ok(()) };
        if self.open_calls.load(Ordering::Relaxed) > 0 {
            lock.release_visibly();
            return Ok(());
        }
        let owner = self.owner.get();
        self.writer()?.transaction("ending", |connection| {
            connection.execute(
                "UPDATE _toolwright_owners SET ended_at_ms = ?1 WHERE id = ?2",
                (now_ms(), owner),
            )
        })?;
        drop(lock);
        Ok(())
    }

    pub(crate) fn writer(&self) -> Result<&Arc<Writer>, JournalError> {
        self.writer.as_ref().ok_or_else(|| JournalError::ReadOnly { path: self.path.clone() })
    }

    /// The directory of the locks; `None` in memory.
    pub(crate) fn locks(&self) -> Option<&Path> {
        self.locks.as_deref()
    }

    /// This journal as an owner of rows. `None` in memory, where nobody can find them afterwards.
    pub(crate) fn owner(&self) -> Result<Option<i64>, JournalError> {
        let Some(locks) = &self.locks else { return Ok(None) };
        if let Some(id) = self.owner.get() {
            return Ok(Some(*id));
        }
        let mut lock = self.owner_lock();
        if let Some(id) = self.owner.get() {
            return Ok(Some(*id));
        }
        let candidate = Candidate::new(locks)?;
        let id = self.writer()?.transaction("becoming an owner", |connection| {
            candidate.insert(connection, now_ms())
        })?;
        *lock = Some(candidate.lock);
        Ok(Some(*self.owner.get_or_init(|| id)))
    }

    /// This journal as an owner, if it has become one.
    pub(crate) fn owner_if_any(&self) -> Option<i64> {
        self.owner.get().copied()
    }

    /// Counts what nobody else can complete.
    pub(crate) fn count_open(&self, more: i64) {
        self.open_calls.fetch_add(more, Ordering::Relaxed);
    }

    /// Reads, after what waits has been written. What cannot be written is not seen; `flush` tells
    /// why.
    pub(crate) fn read<T>(
        &self,
        operation: &'static str,
        act: impl FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, JournalError> {
        self.behind.settle();
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(Err(path)) = files.as_deref().map(OpenFiles::check_index) {
            return Err(JournalError::Removed { path });
        }
        match (&self.readers, &self.writer) {
            (Some(readers), _) => readers.read(operation, act),
            (None, Some(writer)) => writer.read(operation, act),
            (None, None) => Err(JournalError::Closed { path: self.path.clone() }),
        }
    }

    pub(crate) fn start_thread(&self, writer: &Arc<Writer>) -> bool {
        if self.behind.is_running() {
            return true;
        }
        let checkpoint =
            self.locks.is_some().then(|| Checkpoint::new(&self.path, self.options.synchronous));
        self.behind.start(writer, checkpoint).is_ok() && self.behind.is_running()
    }

    pub(crate) fn tend_log(&self) {
        if let Some(writer) = &self.writer
            && writer.log_became_long()
            && self.start_thread(writer)
        {
            self.behind.move_log();
        }
    }

    fn owner_lock(&self) -> MutexGuard<'_, Option<LockFile>> {
        self.owner_lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

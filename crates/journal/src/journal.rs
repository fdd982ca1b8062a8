//! The journal: opening, writing, closing. [`queries`](crate::queries) and the modules named after what
//! they read have the rest.

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use rusqlite::Connection;
use toolwright_sqlite::clock::now_ms;
use toolwright_sqlite::sync::lock;
use toolwright_sqlite::{Database, LockFile};

use crate::schema::Tables;
use crate::statements::End;
use crate::write_behind::WriteBehindQueue;
use crate::writer::{Work, Writer};
use crate::{CallRef, Finish, Intent, JournalError, Location, Options, columns, owner};

/// Recorded calls, in a file that several processes share or in memory. Used from any number of
/// threads at once.
///
/// Dropping it closes it; [`Journal::close`] also reports what went wrong.
#[derive(Debug)]
pub struct Journal {
    pub(crate) database: Arc<Database>,
    pub(crate) options: Options,
    pub(crate) writer: Arc<Writer>,
    pub(crate) write_behind: Arc<WriteBehindQueue>,
    /// The columns to select, depending on those that the table has.
    pub(crate) columns: String,
    pub(crate) outline_columns: String,
    owner: OnceLock<i64>,
    owner_lock: Mutex<Option<LockFile>>,
    /// Calls that began and have no outcome yet.
    open_calls: AtomicI64,
    /// Held while closing, so that a second caller waits for the first.
    closing: Mutex<()>,
}

impl Journal {
    /// Opens a journal. A file is created, or brought up to date, unless it is opened for reading
    /// only. Within one process only this crate may open the file, any number of times: see
    /// [`Database::open`].
    pub fn open(location: &Location, options: Options) -> Result<Self, JournalError> {
        let (database, tables) = Database::open::<Tables>(location, options.database())?;
        let database = Arc::new(database);
        Ok(Self {
            writer: Arc::new(Writer::new(Arc::clone(&database))),
            write_behind: Arc::new(WriteBehindQueue::new(
                database.path().to_owned(),
                options.flush_within,
                options.queue_rows,
            )),
            columns: columns::select_list(&tables.calls.columns, false),
            outline_columns: columns::select_list(&tables.calls.columns, true),
            database,
            options,
            owner: OnceLock::new(),
            owner_lock: Mutex::default(),
            open_calls: AtomicI64::new(0),
            closing: Mutex::default(),
        })
    }

    /// The file, or `memory:`.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.database.path()
    }

    /// Records that a call begins, with status `started`. The row is on disk when this returns, and
    /// so before the call has done anything.
    pub fn begin(&self, intent: Intent) -> Result<CallRef, JournalError> {
        let owner = self.owner()?;
        let Intent { attempt, seq, started_at_ms, .. } = intent;
        let work = Work::Insert { intent: Box::new(intent), owner, end: None };
        let row = self.writer.write(work)?;
        self.add_open_calls(1);
        Ok(CallRef { row, attempt, seq, started_at_ms })
    }

    /// Records the outcome of a call that began. It is on disk when this returns.
    pub fn finish(&self, call: CallRef, finish: Finish) -> Result<(), JournalError> {
        let end = End::new(finish, self.options.output_limit);
        self.writer.write(Work::Finish { call, end })?;
        self.add_open_calls(-1);
        Ok(())
    }

    /// Records that a call which runs has read its idempotency key, so that the row says so even if its process dies.
    pub fn note_key_read(&self, call: CallRef) -> Result<(), JournalError> {
        self.writer.write(Work::KeyRead(call)).map(drop)
    }

    /// Records a call that is over, in one row. One without a side effect is written behind: within
    /// [`Options::flush_within`], and before the journal is closed or listed; a process that is
    /// killed before loses it. One with a side effect is on disk when this returns.
    pub fn record(&self, intent: Intent, finish: Finish) -> Result<(), JournalError> {
        self.database.check_writable()?;
        let end = End::new(finish, self.options.output_limit);
        let bytes = end.len() + intent.len();
        let is_written_behind = !intent.side_effect && self.write_behind.start(&self.writer);
        let work = Work::Insert { intent: Box::new(intent), owner: None, end: Some(end) };
        if is_written_behind {
            self.write_behind.push(work, bytes)
        } else {
            self.writer.write(work).map(|_| ())
        }
    }

    /// Waits until everything recorded so far is on disk.
    pub fn flush(&self) -> Result<(), JournalError> {
        self.write_behind.flush()
    }

    /// Writes the queue, and closes the file. Calls that still run get no outcome; the next process that
    /// recovers the journal finds them. Closing again does nothing.
    pub fn close(&self) -> Result<(), JournalError> {
        let _closing = lock(&self.closing);
        let flushed = self.write_behind.stop();
        let ended = self.end_owner();
        let closed = self.database.close();
        flushed.and(ended).and(closed.map_err(JournalError::from))
    }

    /// An owner whose calls all have their outcome needs no recovery.
    fn end_owner(&self) -> Result<(), JournalError> {
        let Some(owner_lock) = lock(&self.owner_lock).take() else { return Ok(()) };
        if self.open_calls.load(Ordering::Relaxed) > 0 {
            owner_lock.release_visibly();
            return Ok(());
        }
        let owner = self.owner.get();
        self.transaction("ending", |connection| {
            connection.execute(
                "UPDATE _toolwright_owners SET ended_at_ms = ?1 WHERE id = ?2",
                (now_ms(), owner),
            )
        })?;
        drop(owner_lock);
        Ok(())
    }

    /// This journal as an owner of rows. `None` in memory, where no process can find them afterwards.
    pub(crate) fn owner(&self) -> Result<Option<i64>, JournalError> {
        let Some(locks) = self.database.locks() else {
            self.database.check_writable()?;
            return Ok(None);
        };
        if let Some(id) = self.owner.get() {
            return Ok(Some(*id));
        }
        let mut owner_lock = lock(&self.owner_lock);
        if let Some(id) = self.owner.get() {
            return Ok(Some(*id));
        }
        // Before the row, so that no process finds a row whose lock is free.
        let (name, lock) = LockFile::acquire_new(locks, owner::PREFIX)?;
        let id = self.transaction("becoming an owner", |connection| {
            owner::insert(connection, &name, lock.id())
        })?;
        *owner_lock = Some(lock);
        Ok(Some(*self.owner.get_or_init(|| id)))
    }

    /// This journal as an owner, if it has become one.
    pub(crate) fn owner_if_any(&self) -> Option<i64> {
        self.owner.get().copied()
    }

    /// Counts the calls that only this journal can complete.
    pub(crate) fn add_open_calls(&self, change: i64) {
        self.open_calls.fetch_add(change, Ordering::Relaxed);
    }

    /// Reads once the queue is written. Rows that cannot be written are missing, and [`Journal::flush`]
    /// reports why.
    pub(crate) fn read<T>(
        &self,
        operation: &'static str,
        act: impl FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, JournalError> {
        self.write_behind.settle();
        self.database.read(operation, act)
    }

    /// Runs `act` in a transaction: see [`Database::transaction`].
    pub(crate) fn transaction<T>(
        &self,
        operation: &'static str,
        act: impl FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, JournalError> {
        self.database.transaction(operation, act)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

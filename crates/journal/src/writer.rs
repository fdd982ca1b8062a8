//! The one connection of a journal that writes.
//!
//! Calls that come together are written together. Who finds nobody writing writes its row, as a
//! transaction of its own; who comes meanwhile queues up, and is written with all others in the queue
//! in one transaction, by the same thread or, after that, by the first of those who wait. So nobody
//! is overtaken for ever, and waiting for the disk is shared.

use std::mem;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{self, Thread};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use toolwright_sqlite::connection::log_pages;
use toolwright_sqlite::{LogGrowth, OpenFiles, Patience};

use crate::JournalError;
use crate::call::{CallRef, Intent};
use crate::statements::{self, End, Written};

/// What is to be written.
#[derive(Debug)]
pub(crate) enum Work {
    /// A call that begins, or is over.
    Insert { intent: Box<Intent>, owner: Option<i64>, end: Option<End> },
    /// The outcome of one that began.
    Finish { call: CallRef, end: End },
}

impl Work {
    fn write(&self, connection: &Connection, path: &Path) -> Written<i64> {
        match self {
            Self::Insert { intent, owner, end } => {
                statements::insert(connection, path, intent, *owner, end.as_ref())
            }
            Self::Finish { call, end } => statements::finish(connection, path, *call, end),
        }
    }
}

/// One call's row on its way, and the thread that waits for it.
#[derive(Debug)]
struct Job {
    work: Work,
    thread: Thread,
    result: Mutex<Option<Result<i64, JournalError>>>,
    /// Set for the one that has to write what is in the queue.
    leads: AtomicBool,
}

impl Job {
    fn settle(&self, result: Result<i64, JournalError>) {
        *unpoisoned(&self.result) = Some(result);
        self.thread.unpark();
    }
}

#[derive(Debug, Default)]
struct Queue {
    jobs: Vec<Arc<Job>>,
    /// Whether somebody writes, who will look at the jobs when finished.
    is_led: bool,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Writer {
    path: PathBuf,
    patience: Patience,
    /// `None` after closing.
    connection: Mutex<Option<Connection>>,
    queue: Mutex<Queue>,
    log: LogGrowth,
    log_is_long: AtomicBool,
    /// `None` in memory, and after closing.
    files: Mutex<Option<Arc<OpenFiles>>>,
}

impl Writer {
    pub(crate) fn new(path: PathBuf, connection: Connection, patience: Patience) -> Self {
        Self {
            path,
            patience,
            connection: Mutex::new(Some(connection)),
            queue: Mutex::default(),
            log: LogGrowth::default(),
            log_is_long: AtomicBool::new(false),
            files: Mutex::default(),
        }
    }

    /// Has it look whether these files are still there.
    pub(crate) fn with_files(self, files: Arc<OpenFiles>) -> Self {
        *unpoisoned(&self.files) = Some(files);
        self
    }

    /// Writes one row; it is on disk when this returns.
    pub(crate) fn write(&self, work: Work) -> Result<i64, JournalError> {
        let mut queue = unpoisoned(&self.queue);
        if !queue.is_led {
            queue.is_led = true;
            drop(queue);
            let lead = Lead { writer: self };
            let result = self.write_alone(unpoisoned(&self.connection).as_ref(), &work);
            lead.write_queue();
            return result;
        }
        let job = Arc::new(Job {
            work,
            thread: thread::current(),
            result: Mutex::default(),
            leads: AtomicBool::new(false),
        });
        queue.jobs.push(Arc::clone(&job));
        drop(queue);
        loop {
            if let Some(result) = unpoisoned(&job.result).take() {
                return result;
            }
            if job.leads.load(Ordering::Acquire) {
                // This job is still in the queue, and gets its result in this round.
                Lead { writer: self }.write_queue();
            } else {
                thread::park();
            }
        }
    }

    /// As [`Writer::write`], or `None` when it would have to wait for another writer.
    pub(crate) fn write_at_once(&self, work: &Work) -> Option<Result<i64, JournalError>> {
        let mut queue = unpoisoned(&self.queue);
        if queue.is_led {
            return None;
        }
        queue.is_led = true;
        drop(queue);
        // Those who come meanwhile are written by the first of them, not by this thread.
        let _lead = Lead { writer: self };
        let guard = match self.connection.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(guard)) => guard.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let written = self.open(guard.as_ref()).and_then(|connection| {
            let retried = Patience::HARDLY_ANY
                .retry(&self.path, "writing a call", || work.write(connection, &self.path));
            self.still_there(retried?)
        });
        self.note_log();
        match written {
            Err(JournalError::Busy { .. }) => None,
            written => Some(written.and_then(|row| row)),
        }
    }

    /// Writes what is in the queue.
    fn write_jobs(&self) {
        let jobs = mem::take(&mut unpoisoned(&self.queue).jobs);
        if jobs.is_empty() {
            return;
        }
        let works = jobs.iter().map(|job| &job.work);
        let results = self.write_all(unpoisoned(&self.connection).as_ref(), works);
        for (job, result) in jobs.iter().zip(results) {
            job.settle(result);
        }
    }

    fn write_alone(
        &self,
        connection: Option<&Connection>,
        work: &Work,
    ) -> Result<i64, JournalError> {
        let connection = self.open(connection)?;
        let result = self.patience.retry(&self.path, "writing a call", || {
            // A single statement is a transaction by itself.
            work.write(connection, &self.path)
        });
        self.note_log();
        self.still_there(result?)?
    }

    /// Writes many rows in one transaction. A failure of the database is every row's failure; a
    /// failure of one row is its own.
    fn write_all<'w>(
        &self,
        connection: Option<&Connection>,
        works: impl Iterator<Item = &'w Work> + Clone,
    ) -> Vec<Result<i64, JournalError>> {
        let written = self.open(connection).and_then(|connection| {
            self.within(connection, "writing calls", |transaction| {
                works.clone().map(|work| work.write(transaction, &self.path)).collect()
            })
        });
        written.unwrap_or_else(|error| works.map(|_| Err(error.clone())).collect())
    }

    /// As [`Writer::write_all`], for rows that wait for nobody.
    pub(crate) fn write_batch(&self, works: &[Work]) -> Vec<Result<i64, JournalError>> {
        self.write_all(unpoisoned(&self.connection).as_ref(), works.iter())
    }

    /// Runs `act` in a transaction that no other writer comes into: all of it or, on an error,
    /// nothing. It may be run again when another process was faster.
    pub(crate) fn transaction<T>(
        &self,
        operation: &'static str,
        act: impl FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, JournalError> {
        let guard = unpoisoned(&self.connection);
        self.within(self.open(guard.as_ref())?, operation, act)
    }

    /// For a journal in memory, which has this connection alone.
    pub(crate) fn read<T>(
        &self,
        operation: &'static str,
        act: impl FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, JournalError> {
        let guard = unpoisoned(&self.connection);
        let connection = self.open(guard.as_ref())?;
        let mut act = act;
        Ok(self.patience.retry(&self.path, operation, || act(connection))?)
    }

    fn within<T>(
        &self,
        connection: &Connection,
        operation: &'static str,
        mut act: impl FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, JournalError> {
        let result = self.patience.retry(&self.path, operation, || {
            let transaction =
                Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
            let value = act(&transaction)?; // on an error the transaction is undone when dropped
            transaction.commit()?;
            Ok(value)
        });
        self.note_log();
        self.still_there(result?)
    }

    /// Whether the log has become long since this was last asked.
    pub(crate) fn log_became_long(&self) -> bool {
        self.log_is_long.load(Ordering::Relaxed) && self.log_is_long.swap(false, Ordering::Relaxed)
    }

    fn note_log(&self) {
        if self.log.is_due(log_pages()) {
            self.log_is_long.store(true, Ordering::Relaxed);
        }
    }

    /// What was written is told only if it is where others will find it.
    fn still_there<T>(&self, written: T) -> Result<T, JournalError> {
        match unpoisoned(&self.files).as_deref().map_or(Ok(()), OpenFiles::check) {
            Ok(()) => Ok(written),
            Err(path) => Err(JournalError::Removed { path }),
        }
    }

    /// Closes the connection, after whatever is being written.
    pub(crate) fn close(&self) -> Option<Connection> {
        let mut connection = unpoisoned(&self.connection);
        *unpoisoned(&self.files) = None;
        connection.take()
    }

    fn open<'c>(&self, connection: Option<&'c Connection>) -> Result<&'c Connection, JournalError> {
        let connection =
            connection.ok_or_else(|| JournalError::Closed { path: self.path.clone() })?;
        // A command of an agent may well remove the journal (`git clean`), and to touch the index of a
        // log that was cut would end the process.
        self.still_there(connection)
    }
}

/// The duty to write what is in the queue. Passed on when dropped, however that comes about, since
/// those in the queue wait for it.
struct Lead<'w> {
    writer: &'w Writer,
}

impl Lead<'_> {
    fn write_queue(self) {
        self.writer.write_jobs();
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut queue = unpoisoned(&self.writer.queue);
        match queue.jobs.first() {
            None => queue.is_led = false,
            Some(next) => {
                next.leads.store(true, Ordering::Release);
                next.thread.unpark();
            }
        }
    }
}

/// What the locks guard stays whole through a panic: rows are moved in and out by single calls, and
/// an open transaction is undone as its guard is dropped.
fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

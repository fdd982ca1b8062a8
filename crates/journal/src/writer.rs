//! Group commit: calls that come together are written together.
//!
//! A caller that finds the writer idle leads: it writes its row, as a transaction of its own. Callers that
//! come meanwhile queue up, and are written with all others in the queue in one transaction, by the same
//! thread or, after that, by the first of those who wait. So no caller is overtaken for ever, and callers
//! share the wait for the disk.

use std::mem;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, Thread};

use rusqlite::Connection;
use toolwright_sqlite::sync::lock;
use toolwright_sqlite::{Database, SqliteErrorKind};

use crate::JournalError;
use crate::call::{CallRef, Intent};
use crate::statements::{self, End, Written};

/// A row to write.
#[derive(Debug)]
pub(crate) enum Work {
    /// A call that begins, or is over.
    Insert { intent: Box<Intent>, owner: Option<i64>, end: Option<End> },
    /// The outcome of a call that began.
    Finish { call: CallRef, end: End },
    /// A call that runs has read its idempotency key.
    KeyRead(CallRef),
}

impl Work {
    fn write(&self, connection: &Connection, path: &Path) -> Written {
        match self {
            Self::Insert { intent, owner, end } => {
                statements::insert(connection, path, intent, *owner, end.as_ref())
            }
            Self::Finish { call, end } => statements::finish(connection, path, *call, end),
            Self::KeyRead(call) => statements::note_key_read(connection, *call),
        }
    }
}

/// A queued row, and the thread that waits for it.
#[derive(Debug)]
struct Job {
    work: Work,
    thread: Thread,
    result: Mutex<Option<Result<i64, JournalError>>>,
    /// Set for the job whose thread has to write the queue.
    leads: AtomicBool,
}

impl Job {
    fn settle(&self, result: Result<i64, JournalError>) {
        *lock(&self.result) = Some(result);
        self.thread.unpark();
    }
}

#[derive(Debug, Default)]
struct Queue {
    jobs: Vec<Arc<Job>>,
    /// Whether a thread writes, which will look at the jobs afterwards.
    is_led: bool,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Writer {
    database: Arc<Database>,
    queue: Mutex<Queue>,
}

impl Writer {
    pub(crate) fn new(database: Arc<Database>) -> Self {
        Self { database, queue: Mutex::default() }
    }

    /// Writes one row; it is on disk when this returns.
    pub(crate) fn write(&self, work: Work) -> Result<i64, JournalError> {
        let mut queue = lock(&self.queue);
        if !queue.is_led {
            queue.is_led = true;
            drop(queue);
            let lead = Lead { writer: self };
            let result = self.write_alone(&work);
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
            if let Some(result) = lock(&job.result).take() {
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

    /// Writes one row by `act`, or gives `None` when that would have to wait for another writer.
    pub(crate) fn try_write_nowait(
        &self,
        act: impl Fn(&Connection, &Path) -> Written,
    ) -> Result<Option<i64>, JournalError> {
        let mut queue = lock(&self.queue);
        if queue.is_led {
            return Ok(None);
        }
        queue.is_led = true;
        drop(queue);
        // Callers that come meanwhile are written by the first of them, not by this thread.
        let _lead = Lead { writer: self };
        let path = self.database.path();
        let Some(writer) = self.database.try_writer_nowait()? else { return Ok(None) };
        match writer.execute("writing a call", |connection| act(connection, path)) {
            Err(error) if error.kind == SqliteErrorKind::Busy => Ok(None),
            written => written?.map(Some),
        }
    }

    fn write_queue(&self) {
        let jobs = mem::take(&mut lock(&self.queue).jobs);
        if jobs.is_empty() {
            return;
        }
        let results = self.write_all(jobs.iter().map(|job| &job.work));
        for (job, result) in jobs.iter().zip(results) {
            job.settle(result);
        }
    }

    fn write_alone(&self, work: &Work) -> Result<i64, JournalError> {
        let path = self.database.path();
        // A single statement is a transaction by itself.
        self.database
            .writer()?
            .execute("writing a call", |connection| work.write(connection, path))?
    }

    /// Writes many rows in one transaction. A failure of the database fails every row; a failure of one
    /// row fails that row alone.
    pub(crate) fn write_all<'w>(
        &self,
        works: impl Iterator<Item = &'w Work> + Clone,
    ) -> Vec<Result<i64, JournalError>> {
        let path = self.database.path();
        let written: Result<_, JournalError> =
            self.database.transaction("writing calls", |transaction| {
                let rows = works.clone().map(|work| work.write(transaction, path));
                rows.collect::<rusqlite::Result<Vec<_>>>()
            });
        written.unwrap_or_else(|error| works.map(|_| Err(error.clone())).collect())
    }
}

/// The duty to write the queue. Passed on when dropped, also by a panic, since the queued threads wait.
struct Lead<'w> {
    writer: &'w Writer,
}

impl Lead<'_> {
    fn write_queue(self) {
        self.writer.write_queue();
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut queue = lock(&self.writer.queue);
        match queue.jobs.first() {
            None => queue.is_led = false,
            Some(next) => {
                next.leads.store(true, Ordering::Release);
                next.thread.unpark();
            }
        }
    }
}

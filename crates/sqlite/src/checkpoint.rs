//! Moving the write-ahead log into the database, away from the calls that write.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;

use crate::open_files::is_cut;
use crate::path::beside;
use crate::sync::lock;
use crate::{Synchronous, connection};

/// Checkpoint the log each time it has grown by these many pages (4 MB).
const CHECKPOINT_PAGES: u32 = 1000;
/// From this length on, the checkpoint holds writers up: they have written while it ran, again and again.
const BLOCKING_PAGES: u32 = 4 * CHECKPOINT_PAGES;
/// How often and how soon to retry to hold them up, and to look whether readers need what is left.
const MAX_RETRIES: i32 = 200;
const PAUSE: Duration = Duration::from_micros(20);
/// `SQLite` is sparing with its stack.
const STACK: usize = 512 << 10;

/// Decides when the log is due, and checkpoints it on a thread of its own: a checkpoint waits for the
/// disk, and the call that made it due need not.
#[derive(Debug)]
pub(crate) struct Checkpointer {
    growth: LogGrowth,
    checkpoint: Arc<Mutex<Checkpoint>>,
    /// The last checkpoint, which may still run.
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Checkpointer {
    pub(crate) fn new(path: &Path, synchronous: Synchronous) -> Self {
        let checkpoint = Arc::new(Mutex::new(Checkpoint::new(path, synchronous)));
        Self { growth: LogGrowth::default(), checkpoint, thread: Mutex::default() }
    }

    /// Starts a checkpoint if the log, which now has `pages`, has grown enough. One at a time: a log that
    /// grows meanwhile becomes due again.
    pub(crate) fn maybe_checkpoint(&self, pages: u32) {
        if !self.growth.is_due(pages) {
            return;
        }
        let mut thread = lock(&self.thread);
        if thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return;
        }
        let checkpoint = Arc::clone(&self.checkpoint);
        let builder = thread::Builder::new().name("toolwright-log".to_owned()).stack_size(STACK);
        // Without a thread the log goes on growing, and closing the database moves it.
        *thread = builder.spawn(move || lock(&checkpoint).run()).ok();
    }

    /// Waits for a running checkpoint. None starts afterwards.
    pub(crate) fn close(&self) {
        lock(&self.checkpoint).close();
        if let Some(thread) = lock(&self.thread).take() {
            let _ = thread.join();
        }
    }
}

/// Knows how far the log has grown since it was last due.
///
/// The log begins anew only when all of it has been moved and the next write comes. Under constant
/// writing it has grown again whenever it has been moved, and being due at once would keep the disk busy.
#[derive(Debug, Default)]
struct LogGrowth {
    /// The length when it was last due.
    due_at: AtomicU32,
}

impl LogGrowth {
    /// Whether a log of `pages` is due. Asked after every commit.
    fn is_due(&self, pages: u32) -> bool {
        let due_at = self.due_at.load(Ordering::Relaxed);
        // A shorter log has begun anew.
        let due_at = if pages < due_at { 0 } else { due_at };
        let is_due = pages >= due_at + CHECKPOINT_PAGES;
        if pages > 0 {
            self.due_at.store(if is_due { pages } else { due_at }, Ordering::Relaxed);
        }
        is_due
    }
}

/// The connection that checkpoints, opened at its first use. On the writer's connection, calls would
/// wait for the disk.
#[derive(Debug)]
struct Checkpoint {
    path: PathBuf,
    synchronous: Synchronous,
    connection: Option<Connection>,
    closed: bool,
}

impl Checkpoint {
    fn new(path: &Path, synchronous: Synchronous) -> Self {
        Self { path: path.to_owned(), synchronous, connection: None, closed: false }
    }

    /// Moves what no reader needs any more, without holding up readers or writers. If the log has become
    /// too long, writers wait while the rest is moved. A failure loses nothing: the log goes on growing
    /// until the next time.
    fn run(&mut self) {
        if self.closed {
            return;
        }
        if self.connection.is_none() {
            self.connection = connection::checkpointer(&self.path, self.synchronous).ok();
        }
        let Some(connection) = &self.connection else { return };
        if is_cut(&beside(&self.path, "-shm")) {
            return;
        }
        if checkpoint_wal(connection, "PASSIVE").is_some_and(|pages| pages >= BLOCKING_PAGES)
            && connection.busy_handler(Some(retry)).is_ok()
        {
            checkpoint_wal(connection, "FULL");
            let _ = connection.busy_timeout(Duration::ZERO);
        }
    }

    /// Closes the connection for good.
    fn close(&mut self) {
        self.closed = true;
        self.connection = None;
    }
}

/// Gives the number of pages that the log had at the start.
fn checkpoint_wal(connection: &Connection, mode: &str) -> Option<u32> {
    let pragma = format!("PRAGMA wal_checkpoint({mode})");
    connection.query_row(&pragma, [], |row| row.get(1)).ok()
}

/// Writers leave the log alone only for moments, which `SQLite`'s own pauses would miss.
fn retry(count: i32) -> bool {
    thread::sleep(PAUSE);
    count < MAX_RETRIES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BusyTimeout;
    use crate::connection::{log_pages, writer};

    /// However fast one write follows another. Without holding writers up, the log begins anew only
    /// where a pause happens to be.
    #[test]
    fn the_log_of_a_restless_writer_begins_anew() {
        const COMMITS: u32 = 20_000;
        let directory = tempfile::tempdir().expect("dir");
        let path = directory.path().join("restless.db");
        let busy = BusyTimeout(Duration::from_secs(20));
        let connection = writer(&path, Synchronous::Normal, busy).expect("open");
        connection.execute_batch("CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT)").expect("create");
        let checkpointer = Checkpointer::new(&path, Synchronous::Normal);
        let text = "x".repeat(3000);
        let (mut last, mut longest, mut written) = (0, 0, 0);
        for _ in 0..COMMITS {
            let insert = || connection.execute("INSERT INTO t(b) VALUES (?1)", [&text]);
            busy.retry(&path, "writing", insert).expect("write");
            let pages = log_pages();
            written += if pages > last { pages - last } else { pages };
            (last, longest) = (pages, longest.max(pages));
            checkpointer.maybe_checkpoint(pages);
        }
        checkpointer.close();
        assert!(longest < written / 2, "the log had {longest} of {written} pages at once");
        let rows = connection.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, u32>(0));
        assert_eq!(rows.expect("count"), COMMITS);
    }

    /// A file that has come in place of the database is neither created again nor changed.
    #[test]
    fn a_replaced_file_is_left_alone() {
        let directory = tempfile::tempdir().expect("dir");
        let path = directory.path().join("gone.db");
        Checkpoint::new(&path, Synchronous::Normal).run();
        assert_eq!(std::fs::read_dir(directory.path()).expect("dir").count(), 0);

        let other = Connection::open(&path).expect("open");
        other.execute_batch("CREATE TABLE t(a)").expect("create");
        let before = std::fs::read(&path).expect("read");
        Checkpoint::new(&path, Synchronous::Normal).run();
        assert!(std::fs::read(&path).expect("read") == before);
        let mode = other.query_row("PRAGMA journal_mode", [], |row| row.get::<_, String>(0));
        assert_eq!(mode.expect("mode"), "delete");
    }

    #[test]
    fn a_log_is_due_when_it_has_grown() {
        let growth = LogGrowth::default();
        let due: Vec<_> = (1..=3500).filter(|pages| growth.is_due(*pages)).collect();
        assert_eq!(due, [1000, 2000, 3000]);
        // A commit without changes reports no length.
        assert!(!growth.is_due(0));
        assert!(!growth.is_due(3999));
        // The log has begun anew.
        assert!(!growth.is_due(2));
        assert!(!growth.is_due(999));
        assert!(growth.is_due(1000));
    }
}

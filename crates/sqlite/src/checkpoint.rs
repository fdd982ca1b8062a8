//! Moving the log into the database, away from the calls that write.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use rusqlite::Connection;

use crate::open_files::is_cut;
use crate::{Synchronous, connection};

/// By so many pages (4 MB) the log grows before it is moved, and moved again.
const STEP: u32 = 1000;
/// From so many pages on writers are held up for it. They have written all the while it was moved.
const TOO_LONG: u32 = 4 * STEP;
/// How often, and how soon again, to try to hold them up; and how often to look whether readers need what
/// is left.
const TRIES: i32 = 200;
const PAUSE: Duration = Duration::from_micros(20);

/// Knows when the log is to be moved.
///
/// It begins anew only when all of it has been moved and the next write comes. While one write follows
/// another it has grown again whenever it has been moved, and asking at once would have the disk waited
/// for all the time.
#[derive(Debug, Default)]
pub struct LogGrowth {
    /// The length when it was last asked for.
    asked: AtomicU32,
}

impl LogGrowth {
    /// Whether a log that has now `pages` is to be moved. Asked after every commit.
    pub fn is_due(&self, pages: u32) -> bool {
        let asked = self.asked.load(Ordering::Relaxed);
        // It has begun anew since.
        let asked = if pages < asked { 0 } else { asked };
        let is_due = pages >= asked + STEP;
        if pages > 0 {
            self.asked.store(if is_due { pages } else { asked }, Ordering::Relaxed);
        }
        is_due
    }
}

/// The connection that does it, opened when it is first needed: the writer's would make calls wait
/// for the disk.
#[derive(Debug)]
pub struct Checkpoint {
    path: PathBuf,
    synchronous: Synchronous,
    connection: Option<Connection>,
    closed: bool,
}

impl Checkpoint {
    /// Opens nothing yet.
    #[must_use]
    pub fn new(path: &Path, synchronous: Synchronous) -> Self {
        Self { path: path.to_owned(), synchronous, connection: None, closed: false }
    }

    /// Moves what no reader needs any more, and hinders neither readers nor writers, unless the log has
    /// become too long: then writers wait while the rest is moved. Nothing is lost when it fails: the log
    /// goes on growing, and is moved another time.
    pub fn run(&mut self) {
        if self.closed {
            return;
        }
        if self.connection.is_none() {
            self.connection = connection::mover(&self.path, self.synchronous).ok();
        }
        let Some(connection) = &self.connection else { return };
        if is_cut(&connection::beside(&self.path, "-shm")) {
            return;
        }
        // What was written meanwhile is left, and who writes next goes on behind it.
        if moved(connection, "PASSIVE").is_some_and(|pages| pages >= TOO_LONG)
            && connection.busy_handler(Some(try_again)).is_ok()
        {
            moved(connection, "FULL");
            let _ = connection.busy_timeout(Duration::ZERO);
        }
    }

    /// Closes the connection, if there is one, and opens none any more.
    pub fn close(&mut self) {
        self.closed = true;
        self.connection = None;
    }
}

/// Moves the log, and gives how many pages it had when that began.
fn moved(connection: &Connection, mode: &str) -> Option<u32> {
    let pragma = format!("PRAGMA wal_checkpoint({mode})");
    connection.query_row(&pragma, [], |row| row.get(1)).ok()
}

/// Writers leave the log alone for moments only, and `SQLite`'s own pauses are longer than those.
fn try_again(tries: i32) -> bool {
    thread::sleep(PAUSE);
    tries < TRIES
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::Patience;
    use crate::connection::{log_pages, writer};

    /// However fast one write follows another. Without holding writers up, the log begins anew only
    /// where a pause happens to be.
    #[test]
    fn the_log_of_a_restless_writer_begins_anew() {
        const COMMITS: u32 = 20_000;
        let directory = tempfile::tempdir().expect("dir");
        let path = directory.path().join("restless.db");
        let patience = Patience(Duration::from_secs(20));
        let connection = writer(&path, Synchronous::Normal, patience).expect("open");
        connection.execute_batch("CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT)").expect("create");

        let (ask, asked) = mpsc::channel::<()>();
        let mut checkpoint = Checkpoint::new(&path, Synchronous::Normal);
        let mover = thread::spawn(move || {
            while asked.recv().is_ok() {
                while asked.try_recv().is_ok() {}
                checkpoint.run();
            }
        });
        let (growth, text) = (LogGrowth::default(), "x".repeat(3000));
        let (mut last, mut longest, mut written) = (0, 0, 0);
        for _ in 0..COMMITS {
            patience
                .retry(&path, "writing", || {
                    connection.execute("INSERT INTO t(b) VALUES (?1)", [&text])
                })
                .expect("write");
            let pages = log_pages();
            written += if pages > last { pages - last } else { pages };
            (last, longest) = (pages, longest.max(pages));
            if growth.is_due(pages) {
                ask.send(()).expect("the mover lives");
            }
        }
        drop(ask);
        mover.join().expect("the mover ends well");
        assert!(longest < written / 2, "the log had {longest} of {written} pages at once");
        let rows = connection.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, u32>(0));
        assert_eq!(rows.expect("count"), COMMITS);
    }

    /// Neither made again nor changed: it is not this process's file any more.
    #[test]
    fn what_has_come_in_place_of_the_file_is_left_alone() {
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
    fn a_log_is_moved_when_it_has_grown() {
        let growth = LogGrowth::default();
        let due: Vec<_> = (1..=3500).filter(|pages| growth.is_due(*pages)).collect();
        assert_eq!(due, [1000, 2000, 3000]);
        // A commit of nothing has no length.
        assert!(!growth.is_due(0));
        assert!(!growth.is_due(3999));
        // It has begun anew.
        assert!(!growth.is_due(2));
        assert!(!growth.is_due(999));
        assert!(growth.is_due(1000));
    }
}

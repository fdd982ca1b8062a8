//! Attachments before their commit: rows that nobody reads, and how long they stay.
//!
//! Whoever stages holds a lock as long as its store is open, and each of its rows has the lock's name.
//! Whoever opens the file later and gets such a lock knows that nobody is left who could commit those
//! rows, and removes them.

use rusqlite::Connection;
use toolwright_sqlite::{LockFile, SqliteError, lock_file};
use uuid::Uuid;

use crate::store::unpoisoned;
use crate::{Store, ThreadError, threads};

const PREFIX: &str = "stager-";
const TRIES: usize = 100;

/// The name that this store stages under. From now on others can see that it is there.
pub(crate) fn stager(store: &Store) -> Result<String, ThreadError> {
    // What is in memory is gone with its process.
    let Some(locks) = store.locks() else { return Ok("memory".to_owned()) };
    let mut stager = unpoisoned(&store.stager);
    if let Some((name, _)) = stager.as_ref() {
        return Ok(name.clone());
    }
    // Who looks for leftovers may have a new file for a moment.
    for _ in 0..TRIES {
        let name = format!("{PREFIX}{}", Uuid::new_v4().simple());
        if let Some(lock) = LockFile::acquire(locks, &name)? {
            *stager = Some((name.clone(), lock));
            return Ok(name);
        }
    }
    let source = std::io::Error::other("every new name is taken").into();
    Err(SqliteError::Lock { path: locks.to_owned(), source }.into())
}

/// Removes what processes that are gone have staged. What cannot be removed now is so another time.
pub(crate) fn sweep(store: &Store) {
    let Some(locks) = store.locks() else { return };
    let names = store.read("looking for what is staged", |connection| {
        let mut statement = connection.prepare(
            "SELECT DISTINCT staged_by FROM files WHERE staged_by IS NOT NULL LIMIT 1000",
        )?;
        let names = statement.query_map([], |row| row.get(0))?;
        Ok(names.collect::<rusqlite::Result<Vec<String>>>()?)
    });
    // The names are read from a file that may be anybody's work.
    for name in names.unwrap_or_default().into_iter().filter(|name| is_stager(name)) {
        if let Ok(Some(_lock)) = LockFile::acquire(locks, &name) {
            let _ = store
                .write("removing what was staged", |connection| Ok(remove_of(connection, &name)?));
        }
    }
    // Those of stagers that had nothing left to commit, of workers and of stores that were killed.
    lock_file::sweep(locks, |name| {
        is_stager(name) || ["thread-", "open-"].iter().any(|kind| name.starts_with(kind))
    });
}

/// Removes what this store has staged.
pub(crate) fn end(store: &Store) -> Result<(), ThreadError> {
    let Some((name, _lock)) = unpoisoned(&store.stager).take() else { return Ok(()) };
    store.write("removing what was staged", |connection| Ok(remove_of(connection, &name)?))
}

fn remove_of(connection: &Connection, stager: &str) -> rusqlite::Result<()> {
    connection.execute(
        "DELETE FROM file_chunks WHERE (thread, file_path) IN
             (SELECT thread, path FROM files WHERE staged_by = ?1)",
        [stager],
    )?;
    connection.execute("DELETE FROM files WHERE staged_by = ?1", [stager])?;
    Ok(())
}

fn is_stager(name: &str) -> bool {
    name.strip_prefix(PREFIX)
        .is_some_and(|rest| rest.len() == 32 && rest.bytes().all(|b| b.is_ascii_hexdigit()))
}

impl Store {
    /// Removes what was staged and is not to be committed. Others are left alone.
    pub fn discard_staged(&self, thread: &str, paths: &[String]) -> Result<(), ThreadError> {
        self.write("discarding what was staged", |connection| {
            let thread = threads::number(connection, thread)?;
            for path in paths {
                connection.execute(
                    "DELETE FROM file_chunks WHERE thread = ?1 AND file_path =
                         (SELECT path FROM files
                          WHERE thread = ?1 AND path = ?2 AND staged_by IS NOT NULL)",
                    (thread, path),
                )?;
                connection.execute(
                    "DELETE FROM files WHERE thread = ?1 AND path = ?2 AND staged_by IS NOT NULL",
                    (thread, path),
                )?;
            }
            Ok(())
        })
    }
}

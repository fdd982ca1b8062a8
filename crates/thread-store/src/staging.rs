//! Attachments before their commit: rows that no reader sees, and how long they stay.
//!
//! A store that stages holds a lock while it is open, and each of its rows has the lock's name. A store
//! that opens the file later and gets the lock removes those rows: no process is left to commit them.

use rusqlite::Connection;
use toolwright_sqlite::sync::lock;
use toolwright_sqlite::{LockFile, lock_file};

use crate::{Store, ThreadError, threads};

const PREFIX: &str = "stager-";

/// The name that this store stages under. From now on other processes see that the store is open.
pub(crate) fn stager(store: &Store) -> Result<String, ThreadError> {
    // A database in memory is gone with its process.
    let Some(locks) = store.database.locks() else { return Ok("memory".to_owned()) };
    let mut stager = lock(&store.stager);
    if let Some((name, _)) = stager.as_ref() {
        return Ok(name.clone());
    }
    let (name, _) = stager.insert(LockFile::acquire_new(locks, PREFIX)?);
    Ok(name.clone())
}

/// Removes what dead processes have staged. A failure leaves it to the next store.
pub(crate) fn sweep(store: &Store) {
    let Some(locks) = store.database.locks() else { return };
    let names = store.read("looking for what is staged", |connection| {
        let mut statement = connection.prepare(
            "SELECT DISTINCT staged_by FROM files WHERE staged_by IS NOT NULL LIMIT 1000",
        )?;
        let names = statement.query_map([], |row| row.get(0))?;
        Ok(names.collect::<rusqlite::Result<Vec<String>>>()?)
    });
    // The names come from a file that another program may have written.
    for name in names.unwrap_or_default().into_iter().filter(|name| is_stager(name)) {
        if let Ok(Some(_lock)) = LockFile::acquire(locks, &name) {
            let _ = store
                .write("removing what was staged", |connection| Ok(remove_of(connection, &name)?));
        }
    }
    // The locks of killed stores, and of their workers.
    lock_file::sweep(locks, |name| {
        is_stager(name) || ["thread-", "open-"].iter().any(|kind| name.starts_with(kind))
    });
}

/// Removes what this store has staged.
pub(crate) fn discard_own(store: &Store) -> Result<(), ThreadError> {
    let Some((name, _lock)) = lock(&store.stager).take() else { return Ok(()) };
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
    /// Removes staged attachments. Committed ones are left alone.
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

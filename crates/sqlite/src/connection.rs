//! Opening the file: for writing, for reading, for moving the log into the database.

use std::cell::Cell;
use std::ffi::OsString;
use std::fmt::Write;
use std::fs::FileType;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::Access;

use crate::busy::Patience;
use crate::open_files::BESIDE;
use crate::{SqliteError, budget};

/// Statements kept ready on each connection.
const STATEMENTS: usize = 32;
/// The longest value and the longest row: what is longer is refused, and not read into memory.
const LONGEST_VALUE: i32 = 100 << 20;
/// The log is cut back to this size once all of it is in the database.
const LOG_KEPT: u32 = 16 << 20;

/// What a write has survived once it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Synchronous {
    /// The end of every process (`SIGKILL` included). After a loss of power the file is whole, and
    /// the last rows may be missing.
    Normal,
    /// A loss of power too, at the price of waiting for the disk (milliseconds).
    Full,
}

/// What a database is opened as.
#[derive(Debug, Clone)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// A file on which nothing can be created beside it (a read-only directory) and which nobody
    /// writes, so that `SQLite` may read it without its shared memory.
    Frozen(PathBuf),
}

/// Opens for writing: creates the file where it is missing, and has it write ahead to a log.
pub fn writer(
    path: &Path,
    synchronous: Synchronous,
    patience: Patience,
) -> Result<Connection, SqliteError> {
    check_places(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(path, flags).map_err(|error| cannot_open(path, error))?;
    let retry = |operation, sql: &str| {
        patience.retry(path, operation, || {
            connection.query_row(sql, [], |row| row.get::<_, rusqlite::types::Value>(0))
        })
    };
    prepare(&connection, path)?;
    // SQLite opens a file that cannot be written for reading, and says so only when asked.
    let is_read_only = connection.is_readonly("main").unwrap_or(false);
    // Reads the first page, and so finds out whether this is a database.
    let mode = match retry("opening", "PRAGMA journal_mode") {
        // On a disk that is read-only the shared memory cannot be created either.
        Ok(_) | Err(SqliteError::CannotOpen { .. }) if is_read_only => {
            return Err(SqliteError::ReadOnly { path: path.to_owned() });
        }
        mode => mode?,
    };
    let log = rusqlite::types::Value::Text("wal".to_owned());
    if mode != log && retry("switching to a log", "PRAGMA journal_mode = WAL")? != log {
        let reason = "the file system does not support a write-ahead log".to_owned();
        return Err(SqliteError::CannotOpen { path: path.to_owned(), reason });
    }
    keep_to(&connection, path, synchronous)?;
    // Instead of moving the log into the database within a commit (with waits for the disk of many
    // milliseconds, every few hundred calls), the size of the log is noted: see `log_pages`.
    connection.wal_hook(Some(note_log_pages));
    Ok(connection)
}

/// Opens what a [`writer`] has open, to move its log. A file that was removed is not made again, and one
/// that has come in its place stays as it is.
pub(crate) fn mover(path: &Path, synchronous: Synchronous) -> Result<Connection, SqliteError> {
    check_places(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(path, flags).map_err(|error| cannot_open(path, error))?;
    prepare(&connection, path)?;
    keep_to(&connection, path, synchronous)?;
    Ok(connection)
}

/// When to wait for the disk, and how much of the log to keep.
fn keep_to(
    connection: &Connection,
    path: &Path,
    synchronous: Synchronous,
) -> Result<(), SqliteError> {
    let level = match synchronous {
        Synchronous::Normal => "NORMAL",
        Synchronous::Full => "FULL",
    };
    connection
        .execute_batch(&format!(
            "PRAGMA synchronous = {level}; PRAGMA journal_size_limit = {LOG_KEPT}"
        ))
        .map_err(|error| SqliteError::of(path, "opening", error))
}

/// A database that nobody else sees.
pub fn memory() -> Result<Connection, SqliteError> {
    let path = Path::new(":memory:");
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)
        .map_err(|error| SqliteError::of(path, "opening", error))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// Opens for reading, and says how, so that it can be done again.
pub fn first_reader(path: &Path, patience: Patience) -> Result<(Connection, Source), SqliteError> {
    let file = Source::File(path.to_owned());
    let frozen = Source::Frozen(path.to_owned());
    match reader(&file, patience) {
        Ok(connection) => Ok((connection, file)),
        // The shared memory could not be created, and without a log there is nobody who writes.
        Err(SqliteError::CannotOpen { .. } | SqliteError::ReadOnly { .. })
            if path.exists() && !beside(path, "-wal").exists() =>
        {
            reader(&frozen, patience).map(|connection| (connection, frozen))
        }
        Err(error) => Err(error),
    }
}

/// Opens for reading.
pub fn reader(source: &Source, patience: Patience) -> Result<Connection, SqliteError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let (Source::File(path) | Source::Frozen(path)) = source;
    check_places(path)?;
    let (path, opened) = match source {
        Source::File(path) => (path, Connection::open_with_flags(path, flags)),
        Source::Frozen(path) => {
            let address = format!("file:{}?immutable=1", encoded(path));
            (path, Connection::open_with_flags(address, flags | OpenFlags::SQLITE_OPEN_URI))
        }
    };
    let connection = opened.map_err(|error| cannot_open(path, error))?;
    prepare(&connection, path)?;
    patience
        .retry(path, "opening", || connection.query_row("PRAGMA schema_version", [], |_| Ok(())))?;
    Ok(connection)
}

/// What bears the name of a table, if anything does: `None` for a table of rows, else why it is none.
pub fn no_table(connection: &Connection, name: &str) -> rusqlite::Result<Option<String>> {
    let mut statement = connection
        .prepare("SELECT type, rootpage > 0 FROM sqlite_schema WHERE name = ?1 COLLATE NOCASE")?;
    let mut rows = statement.query([name])?;
    while let Some(row) = rows.next()? {
        let kind = match row.get_ref(0)? {
            ValueRef::Text(kind) => String::from_utf8_lossy(kind).into_owned(),
            _ => "nothing".to_owned(),
        };
        if kind != "table" {
            return Ok(Some(format!("`{name}` is no table (`{kind}`)")));
        }
        if row.get_ref(1)? != ValueRef::Integer(1) {
            return Ok(Some(format!("`{name}` is a virtual table")));
        }
    }
    Ok(None)
}

/// The database by its full name and not by a link to it, so that every process finds the same locks.
#[must_use]
pub fn absolute(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The name of a file that belongs to the database.
#[must_use]
pub fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

fn prepare(connection: &Connection, path: &Path) -> Result<(), SqliteError> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Waiting is ours: see `Patience`. And nothing that a file of unknown origin brings along (a
    // trigger, a view, an expression of an index) is run, or calls functions that reach further.
    let prepared = || {
        connection.busy_timeout(std::time::Duration::ZERO)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_VALUE)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
        budget::install(connection, path.to_owned())?;
        connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")
    };
    prepared().map_err(|error| SqliteError::of(path, "opening", error))
}

/// Refuses what `SQLite` would wait for (a named pipe) or act on (a device) by opening it, in the place
/// of the file or of one that belongs to it.
fn check_places(path: &Path) -> Result<(), SqliteError> {
    let refused = |place: &Path, kind: FileType| {
        let what = match kind {
            kind if kind.is_dir() => "a directory",
            kind if kind.is_fifo() => "a named pipe (FIFO)",
            kind if kind.is_socket() => "a socket",
            kind if kind.is_symlink() => "a symbolic link",
            _ => "a device",
        };
        let reason = if place == path {
            format!("it is {what}")
        } else {
            format!("`{}`, which belongs to it, is {what}", place.display())
        };
        Err(SqliteError::CannotOpen { path: path.to_owned(), reason })
    };
    if let Ok(found) = path.metadata()
        && !found.is_file()
    {
        return refused(path, found.file_type());
    }
    let real = absolute(path);
    for suffix in BESIDE {
        let place = beside(&real, suffix);
        if let Ok(found) = place.symlink_metadata()
            && !found.is_file()
        {
            return refused(&place, found.file_type());
        }
    }
    Ok(())
}

thread_local! {
    /// Set by a commit on this thread.
    static LOG_PAGES: Cell<u32> = const { Cell::new(0) };
}

#[expect(clippy::unnecessary_wraps, reason = "the type of the hook")]
fn note_log_pages(_: &Wal, pages: std::ffi::c_int) -> rusqlite::Result<()> {
    LOG_PAGES.set(pages.try_into().unwrap_or(0));
    Ok(())
}

/// How many pages the log had after the last commit on this thread.
#[must_use]
pub fn log_pages() -> u32 {
    LOG_PAGES.take()
}

/// Why a file was not opened: `SQLite` says only that it was not. The file is never opened to find
/// out: closing it again would take from this process all locks that other connections of it hold.
fn cannot_open(path: &Path, error: rusqlite::Error) -> SqliteError {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let may = |path, access| rustix::fs::access(path, access);
    let path = path.to_owned();
    match path.metadata() {
        Ok(found) if found.is_dir() => {
            SqliteError::CannotOpen { path, reason: "it is a directory".to_owned() }
        }
        Ok(_) => match may(path.as_path(), Access::READ_OK) {
            Ok(()) => SqliteError::of(&path, "opening", error),
            Err(errno) => {
                SqliteError::CannotOpen { path, reason: io::Error::from(errno).to_string() }
            }
        },
        Err(missing)
            if matches!(missing.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
        {
            // It would have been created if that were possible.
            match (directory.is_dir(), may(directory, Access::WRITE_OK)) {
                (true, Err(_)) => SqliteError::ReadOnly { path },
                _ => SqliteError::NotFound { path },
            }
        }
        Err(other) => SqliteError::CannotOpen { path, reason: other.to_string() },
    }
}

/// A path within an address: everything but letters, digits and a few signs as `%XX`.
fn encoded(path: &Path) -> String {
    let mut text = String::new();
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

//! Opening connections: for writing, for reading, for checkpoints.

use std::cell::Cell;
use std::fmt::Write;
use std::fs::FileType;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::Access;

use crate::open_files::SUFFIXES;
use crate::path::{absolute, beside};
use crate::{BusyTimeout, SqliteError, SqliteErrorKind as Kind, Synchronous, step_budget};

/// Prepared statements cached on each connection.
const CACHED_STATEMENTS: usize = 32;
/// The longest value and the longest row. Longer ones are refused before they are read into memory.
const MAX_VALUE_BYTES: i32 = 100 << 20;
/// The log is cut back to this size once all of it is in the database.
const MAX_IDLE_LOG_BYTES: u32 = 16 << 20;

/// How readers open a database.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// A file.
    File(PathBuf),
    /// A file without a writer in a read-only directory. `SQLite` may read it without shared memory,
    /// which it could not create.
    Frozen(PathBuf),
}

/// Opens for writing: creates the file where it is missing, and switches it to a write-ahead log.
pub(crate) fn writer(
    path: &Path,
    synchronous: Synchronous,
    busy: BusyTimeout,
) -> Result<Connection, SqliteError> {
    check_file_types(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(path, flags).map_err(|error| cannot_open(path, &error))?;
    let retry = |operation, sql: &str| {
        busy.retry(path, operation, || {
            connection.query_row(sql, [], |row| row.get::<_, rusqlite::types::Value>(0))
        })
    };
    prepare(&connection, path)?;
    // SQLite opens a file that cannot be written for reading, and says so only when asked.
    let is_read_only = connection.is_readonly("main").unwrap_or(false);
    // Reads the first page, and so finds out whether this is a database.
    let mode = match retry("opening", "PRAGMA journal_mode") {
        // On a disk that is read-only the shared memory cannot be created either.
        Err(error) if error.kind != Kind::CannotOpen => return Err(error),
        _ if is_read_only => return Err(Kind::ReadOnly.at(path)),
        mode => mode?,
    };
    let log = rusqlite::types::Value::Text("wal".to_owned());
    if mode != log && retry("switching to a log", "PRAGMA journal_mode = WAL")? != log {
        let reason = "the file system does not support a write-ahead log";
        return Err(Kind::CannotOpen.because(path, reason));
    }
    set_durability(&connection, path, synchronous)?;
    // Without a hook, `SQLite` checkpoints within a commit, which waits many milliseconds for the disk
    // every few hundred calls. This one only notes the size of the log: see `log_pages`.
    connection.wal_hook(Some(note_log_pages));
    Ok(connection)
}

/// Opens the file of a [`writer`] to checkpoint its log. A file that was removed is not created again, and
/// one that has replaced it stays as it is.
pub(crate) fn checkpointer(
    path: &Path,
    synchronous: Synchronous,
) -> Result<Connection, SqliteError> {
    check_file_types(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(path, flags).map_err(|error| cannot_open(path, &error))?;
    prepare(&connection, path)?;
    set_durability(&connection, path, synchronous)?;
    Ok(connection)
}

/// Sets when to wait for the disk, and how much of the log to keep.
fn set_durability(
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
            "PRAGMA synchronous = {level}; PRAGMA journal_size_limit = {MAX_IDLE_LOG_BYTES}"
        ))
        .map_err(|error| SqliteError::of(path, "opening", &error))
}

/// A database of this process alone.
pub(crate) fn memory() -> Result<Connection, SqliteError> {
    let path = Path::new(":memory:");
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)
        .map_err(|error| SqliteError::of(path, "opening", &error))?;
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    Ok(connection)
}

/// Opens for reading, and returns how, so that it can be done again.
pub(crate) fn first_reader(
    path: &Path,
    busy: BusyTimeout,
) -> Result<(Connection, Source), SqliteError> {
    let file = Source::File(path.to_owned());
    let frozen = Source::Frozen(path.to_owned());
    match reader(&file, busy) {
        Ok(connection) => Ok((connection, file)),
        // The shared memory could not be created, and without a log no process writes.
        Err(error)
            if matches!(error.kind, Kind::CannotOpen | Kind::ReadOnly)
                && path.exists()
                && !beside(path, "-wal").exists() =>
        {
            reader(&frozen, busy).map(|connection| (connection, frozen))
        }
        Err(error) => Err(error),
    }
}

/// Opens for reading.
pub(crate) fn reader(source: &Source, busy: BusyTimeout) -> Result<Connection, SqliteError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let (Source::File(path) | Source::Frozen(path)) = source;
    check_file_types(path)?;
    let (path, opened) = match source {
        Source::File(path) => (path, Connection::open_with_flags(path, flags)),
        Source::Frozen(path) => {
            let address = format!("file:{}?immutable=1", encoded(path));
            (path, Connection::open_with_flags(address, flags | OpenFlags::SQLITE_OPEN_URI))
        }
    };
    let connection = opened.map_err(|error| cannot_open(path, &error))?;
    prepare(&connection, path)?;
    busy.retry(path, "opening", || connection.query_row("PRAGMA schema_version", [], |_| Ok(())))?;
    Ok(connection)
}

fn prepare(connection: &Connection, path: &Path) -> Result<(), SqliteError> {
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    // `BusyTimeout` does the waiting. Nothing that a file of unknown origin brings along (a trigger, a
    // view, an expression of an index) is run, or calls functions that reach further.
    let prepared = || {
        connection.busy_timeout(std::time::Duration::ZERO)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
        step_budget::install(connection, path.to_owned())?;
        connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")
    };
    prepared().map_err(|error| SqliteError::of(path, "opening", &error))
}

/// Refuses what `SQLite` would wait for (a named pipe) or act on (a device) by opening it, under the name
/// of the file or of one that belongs to it.
fn check_file_types(path: &Path) -> Result<(), SqliteError> {
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
        Err(Kind::CannotOpen.because(path, reason))
    };
    if let Ok(metadata) = path.metadata()
        && !metadata.is_file()
    {
        return refused(path, metadata.file_type());
    }
    let real = absolute(path);
    for suffix in SUFFIXES {
        let place = beside(&real, suffix);
        if let Ok(metadata) = place.symlink_metadata()
            && !metadata.is_file()
        {
            return refused(&place, metadata.file_type());
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
pub(crate) fn log_pages() -> u32 {
    LOG_PAGES.take()
}

/// Why a file was not opened, which `SQLite` does not report. The file is never opened to find out:
/// closing it again would release all locks that other connections of this process hold on it.
fn cannot_open(path: &Path, error: &rusqlite::Error) -> SqliteError {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let may = |path, access| rustix::fs::access(path, access);
    match path.metadata() {
        Ok(metadata) if metadata.is_dir() => Kind::CannotOpen.because(path, "it is a directory"),
        Ok(_) => match may(path, Access::READ_OK) {
            Ok(()) => SqliteError::of(path, "opening", error),
            Err(errno) => Kind::CannotOpen.because(path, io::Error::from(errno)),
        },
        Err(missing)
            if matches!(missing.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
        {
            // It would have been created if that were possible.
            match (directory.is_dir(), may(directory, Access::WRITE_OK)) {
                (true, Err(_)) => Kind::ReadOnly.at(path),
                _ => Kind::NotFound.at(path),
            }
        }
        Err(other) => Kind::CannotOpen.because(path, other),
    }
}

/// A path within a URI: all but letters, digits and a few signs as `%XX`.
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

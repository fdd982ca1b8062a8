//! Connections for reading: one for each concurrent reader, and a few idle ones.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;

use crate::connection::{self, Source};
use crate::sync::lock;
use crate::{BusyTimeout, SqliteError, SqliteErrorKind};

/// The most idle connections.
const MAX_IDLE: usize = 4;

/// See the module.
#[derive(Debug)]
pub(crate) struct Readers {
    path: PathBuf,
    source: Source,
    busy: BusyTimeout,
    idle: Mutex<Vec<Connection>>,
    closed: AtomicBool,
}

impl Readers {
    /// Opens none yet.
    pub(crate) fn new(path: PathBuf, source: Source, busy: BusyTimeout) -> Self {
        Self { path, source, busy, idle: Mutex::default(), closed: AtomicBool::new(false) }
    }

    /// Runs `act` on a connection of its own, perhaps more than once.
    pub(crate) fn read<T>(
        &self,
        operation: &'static str,
        mut act: impl FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, SqliteError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(SqliteErrorKind::Closed.at(&self.path));
        }
        let idle = lock(&self.idle).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => connection::reader(&self.source, self.busy)?,
        };
        // An error drops the connection, so the next reader opens the file afresh.
        let value = self.busy.retry(&self.path, operation, || act(&connection))?;
        let mut idle = lock(&self.idle);
        if idle.len() < MAX_IDLE && !self.closed.load(Ordering::Acquire) {
            idle.push(connection);
        }
        Ok(value)
    }

    /// Keeps a connection that is already open.
    pub(crate) fn keep(&self, connection: Connection) {
        lock(&self.idle).push(connection);
    }

    /// Closes the idle connections. The others close with their readers.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        lock(&self.idle).clear();
    }
}

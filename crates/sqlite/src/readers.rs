//! Connections for reading: as many as there are readers at once, a few of them kept.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use crate::SqliteError;
use crate::busy::Patience;
use crate::connection::{self, Source};

/// How many are kept for the next reader.
const KEPT: usize = 4;

/// See the module.
#[derive(Debug)]
pub struct Readers {
    path: PathBuf,
    source: Source,
    patience: Patience,
    idle: Mutex<Vec<Connection>>,
    closed: AtomicBool,
}

impl Readers {
    /// Opens none yet.
    #[must_use]
    pub fn new(path: PathBuf, source: Source, patience: Patience) -> Self {
        Self { path, source, patience, idle: Mutex::default(), closed: AtomicBool::new(false) }
    }

    /// Runs `act`, perhaps more than once, on a connection of its own.
    pub fn read<T, E: From<SqliteError>>(
        &self,
        operation: &'static str,
        mut act: impl FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, E> {
        if self.closed.load(Ordering::Acquire) {
            return Err(SqliteError::Closed { path: self.path.clone() }.into());
        }
        let idle = self.idle().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => connection::reader(&self.source, self.patience)?,
        };
        // After an error the connection is dropped: the next reader looks at the file afresh.
        let value = self.patience.retry(&self.path, operation, || act(&connection))?;
        let mut idle = self.idle();
        if idle.len() < KEPT && !self.closed.load(Ordering::Acquire) {
            idle.push(connection);
        }
        Ok(value)
    }

    /// Keeps a connection that is already open.
    pub fn keep(&self, connection: Connection) {
        self.idle().push(connection);
    }

    /// Closes those that are idle; those in use go with their reader.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.idle().clear();
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

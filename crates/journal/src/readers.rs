//! Connections for reading: as many as there are readers at once, a few of them kept.

use std::{
    path::PathBuf,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use rusqlite::Connection;

use crate::{
    JournalError,
    busy::Patience,
    connection::{self, Source},
};

/// How many are kept for the next reader.
const KEPT: usize = 4;

/// See the module.
#[derive(Debug)]
pub(crate) struct Readers {
    path: PathBuf,
    source: Source,
    patience: Patience,
    idle: Mutex<Vec<Connection>>,
    closed: AtomicBool,
}

impl Readers {
    pub(crate) fn new(path: PathBuf, source: Source, patience: Patience) -> Self {
        Self { path, source, patience, idle: Mutex::default(), closed: AtomicBool::new(false) }
    }

    /// Runs `act`, perhaps more than once, on a connection of its own.
    pub(crate) fn read<T>(
        &self,
        operation: &'static str,
        mut act: impl FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, JournalError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(JournalError::Closed { path: self.path.clone() });
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
    pub(crate) fn keep(&self, connection: Connection) {
        self.idle().push(connection);
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.idle().clear();
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

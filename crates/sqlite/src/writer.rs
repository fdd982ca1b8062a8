//! Writing: statements and transactions on the one connection that writes.

use std::sync::MutexGuard;
use std::time::Instant;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::connection::log_pages;
use crate::error::TxError;
use crate::{BusyTimeout, Database, SqliteError};

/// The connection that writes, for one caller. After each write the log is checkpointed if it is due.
///
/// A command of an agent may well remove the file (`git clean`). So the files are checked before each
/// write, because touching the index of a log that was cut would end the process, and after it, because
/// a success is one only if others will find what was written.
#[derive(Debug)]
pub struct WriterGuard<'d> {
    database: &'d Database,
    connection: MutexGuard<'d, Option<Connection>>,
    /// A caller that has waited for its turn does not wait as long again.
    started: Instant,
    busy_timeout: BusyTimeout,
}

impl<'d> WriterGuard<'d> {
    pub(crate) fn new(
        database: &'d Database,
        connection: MutexGuard<'d, Option<Connection>>,
        started: Instant,
        busy_timeout: BusyTimeout,
    ) -> Result<Self, SqliteError> {
        if connection.is_none() {
            return Err(database.closed());
        }
        Ok(Self { database, connection, started, busy_timeout })
    }

    /// Runs a single statement, which is a transaction by itself, again while other processes write.
    pub fn execute<T>(
        &self,
        operation: &'static str,
        act: impl FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, SqliteError> {
        self.database.check_files()?;
        let result = self.retry(operation, act);
        if let Some(checkpointer) = &self.database.checkpointer {
            checkpointer.maybe_checkpoint(log_pages());
        }
        self.database.check_files()?;
        result
    }

    /// As [`Database::transaction`].
    pub fn transaction<T, E: From<SqliteError>, X: Into<TxError<E>>>(
        &self,
        operation: &'static str,
        mut act: impl FnMut(&Connection) -> Result<T, X>,
    ) -> Result<T, E> {
        self.execute(operation, |connection| {
            let transaction =
                Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
            // On an error, dropping the transaction rolls it back.
            match act(&transaction).map_err(X::into) {
                Ok(value) => transaction.commit().map(|()| Ok(value)),
                Err(TxError::Sql(error)) => Err(error),
                Err(TxError::Abort(error)) => Ok(Err(error)),
            }
        })?
    }

    pub(crate) fn retry<T>(
        &self,
        operation: &'static str,
        mut act: impl FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, SqliteError> {
        let connection = self.connection.as_ref().ok_or_else(|| self.database.closed())?;
        let path = self.database.path();
        self.busy_timeout.retry_since(self.started, path, operation, || act(connection))
    }
}

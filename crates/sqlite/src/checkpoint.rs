//! Moving the log into the database, away from the calls that write.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::{Synchronous, busy::Patience, connection};

/// The connection that does it, opened when it is first needed: the writer's would make calls wait
/// for the disk.
#[derive(Debug)]
pub struct Checkpoint {
    path: PathBuf,
    synchronous: Synchronous,
    patience: Patience,
    connection: Option<Connection>,
}

impl Checkpoint {
    /// Opens nothing yet.
    #[must_use]
    pub fn new(path: &Path, synchronous: Synchronous, patience: Patience) -> Self {
        Self { path: path.to_owned(), synchronous, patience, connection: None }
    }

    /// Moves what no reader needs any more, and hinders neither readers nor writers. Nothing is lost
    /// when it fails: the log goes on growing, and the next commit asks again.
    pub fn run(&mut self) {
        if self.connection.is_none() {
            self.connection = connection::writer(&self.path, self.synchronous, self.patience).ok();
        }
        if let Some(connection) = &self.connection {
            let _ = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        }
    }

    /// Closes the connection, if there is one.
    pub fn close(&mut self) {
        self.connection = None;
    }
}

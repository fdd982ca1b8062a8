//! Moving the log into the database, away from the calls that write.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::{busy::Patience, connection, options::Synchronous};

/// The connection that does it, opened when it is first needed: the writer's would make calls wait
/// for the disk.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    path: PathBuf,
    synchronous: Synchronous,
    patience: Patience,
    connection: Option<Connection>,
}

impl Checkpoint {
    pub(crate) fn new(path: &Path, synchronous: Synchronous, patience: Patience) -> Self {
        Self { path: path.to_owned(), synchronous, patience, connection: None }
    }

    /// Moves what no reader needs any more, and hinders neither readers nor writers. Nothing is lost
    /// when it fails: the log goes on growing, and the next commit asks again.
    pub(crate) fn run(&mut self) {
        if self.connection.is_none() {
            self.connection = connection::writer(&self.path, self.synchronous, self.patience).ok();
        }
        if let Some(connection) = &self.connection {
            let _ = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        }
    }
}

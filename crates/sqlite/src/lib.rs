//! `SQLite` files that several processes share, for a journal and for a store of threads.
//!
//! A [`Database`] is one file with one connection that writes, some that read, and one that checkpoints
//! the log; or a database in memory. Any number of threads and processes use it at once.
//!
//! ```
//! use std::time::Duration;
//! use toolwright_sqlite::{
//!     Access, BusyTimeout, Database, Options, Schema, SqliteError, Synchronous,
//! };
//!
//! struct Notes;
//! impl Schema for Notes {
//!     type State = bool;
//!     fn inspect(connection: &rusqlite::Connection, _: Access) -> rusqlite::Result<bool> {
//!         connection.table_exists(None, "notes")
//!     }
//!     fn check(_: &bool, _: Access) -> Result<(), String> {
//!         Ok(())
//!     }
//!     fn missing(exists: &bool) -> Option<String> {
//!         (!exists).then(|| "CREATE TABLE notes(text TEXT)".to_owned())
//!     }
//! }
//!
//! let options = Options {
//!     access: Access::ReadWrite,
//!     synchronous: Synchronous::Normal,
//!     busy_timeout: BusyTimeout(Duration::from_secs(10)),
//! };
//! let (database, _) = Database::open::<Notes>(&"memory:".parse()?, options)?;
//! database.transaction::<_, SqliteError, _>("adding a note", |connection| {
//!     connection.execute("INSERT INTO notes VALUES ('a')", [])
//! })?;
//! database.close()?;
//! # Ok::<(), SqliteError>(())
//! ```
//!
//! # What it promises
//!
//! - A transaction is in the file as a whole or not at all, whatever ends the process.
//! - A write that returns has survived the end of every process; with [`Synchronous::Full`] also a loss
//!   of power. If the file was removed or replaced meanwhile, the write fails with
//!   [`Removed`](SqliteErrorKind::Removed): `SQLite` itself would go on writing to a file without a name.
//! - A [`NamedLock`] has one holder among all threads, processes and containers of a machine, and the
//!   kernel releases it when its process ends.
//! - Waiting for other processes ends after [`BusyTimeout`]; [`Database::try_writer_nowait`] hardly waits.
//!
//! # How it is built
//!
//! The log is checkpointed on a thread and a connection of its own, since a checkpoint waits for the disk.
//! Busy databases are retried here and not by `SQLite`, whose shortest pause is a hundred times as long as
//! a write. While a file is open, [`toolwright_reserved`] keeps the tools and commands of this process
//! away from it and from everything beside it.
//!
//! A file may come from anyone. Triggers and views of a file are not run, its schema is not trusted, and
//! a statement that takes more steps than a file of its size can need is stopped.
//!
//! # Limits
//!
//! Values and rows are at most 100 MB. The file system has to support a write-ahead log, so network file
//! systems do not work. Within a process, nothing but this crate may open the file: a second copy of
//! `SQLite` that closes it releases the locks of this one.

mod busy_timeout;
mod checkpoint;
pub mod clock;
mod connection;
mod database;
mod error;
mod location;
pub mod lock_file;
mod named_lock;
mod open_files;
mod options;
mod path;
mod readers;
mod schema;
mod step_budget;
pub mod sync;
mod writer;

pub use busy_timeout::BusyTimeout;
pub use database::Database;
pub use error::{SqliteError, SqliteErrorKind, TxError};
pub use location::Location;
pub use lock_file::LockFile;
pub use named_lock::{NamedLock, TryLock};
pub use options::{Access, Options, Synchronous};
pub use schema::{Schema, Table};
pub use toolwright_reserved::FileId;
pub use writer::WriterGuard;

//! `SQLite` files that several processes share: what the journal and the threads have in common.
//!
//! - [`Location`]: `file:runs.db`, a path, or `memory:`;
//! - [`connection`]: opening a file for writing (with a write-ahead log), for reading, or in memory;
//! - [`Patience`]: trying again while other processes write;
//! - [`Readers`], [`Checkpoint`]: connections beside the one that writes;
//! - [`OpenFiles`]: what belongs to an open file, kept from the tools and commands of the process;
//! - [`LockFile`]: a lock beside the file that ends with the process that holds it;
//! - [`SqliteError`]: what can go wrong, sorted so that a caller can tell what to do next.

mod budget;
mod busy;
mod checkpoint;
pub mod connection;
mod error;
mod location;
pub mod lock_file;
mod open_files;
mod readers;

pub use busy::Patience;
pub use checkpoint::{Checkpoint, LogGrowth};
pub use connection::{Source, Synchronous};
pub use error::SqliteError;
pub use location::Location;
pub use lock_file::{Held, Identity, LockFile};
pub use open_files::{OpenFiles, Unclosed};
pub use readers::Readers;

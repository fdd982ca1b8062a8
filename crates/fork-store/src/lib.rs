//! Forks of a directory: work on a copy that costs nothing, look at the difference, apply it or throw it away.
//!
//! A fork shows the directory (the base) as it is, at its own path, and keeps what is changed apart. The base is not
//! written before the fork is applied.
//!
//! # On the disk
//!
//! Each fork has a directory in the store: the record of what it is, the manifest of what the base was when it was
//! made, and the changes as the kernel's overlay keeps them. A lock is held by every process that has the fork
//! mounted, so no other one can mount the same changes.
//!
//! # What it promises
//!
//! - All changes are found in the fork alone. The base is read only at the paths that have changed.
//! - Changes are applied all together or not at all. One whose path is no longer in the base what it was when the fork
//!   was made is a conflict, and nothing is applied then.
//! - A text that both have changed at different lines is merged, where the base still had it when the change was first
//!   seen.
//! - An apply can be taken back, all of it or nothing, also when the fork is gone.
//! - After a kill at any moment the base is as before or as after, and the fork is still there.
//!
//! # Limits
//!
//! A fork that has more bytes than it may is refused to tools and new commands, within some tenths of a second; what runs
//! goes on. Files that the fork has not changed are those of the base as they are now. Owners, times, access lists and extended
//! attributes are not applied, and neither are pipes, sockets, devices and git directories. A file that has become a
//! directory, or the other way round, is a conflict.

#![cfg(target_os = "linux")]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod ancestors;
mod apply;
mod base_changes;
mod base_state;
mod changes;
mod collect;
mod commits;
mod diff;
mod error;
mod fork;
mod git_directory;
mod manifest;
mod merge;
mod mounts;
mod open;
mod record;
mod scanner;
mod store;
mod timestamp;
mod tree;
mod undo;
mod undo_note;
mod usage;

pub use apply::{Applied, Apply};
pub use changes::{Change, Changes, Conflict, LeftOut, LeftOutReason, Side};
pub use collect::Collected;
pub use commits::Commits;
pub use diff::Diff;
pub use error::{ForkError, Result, Unavailable};
pub use fork::Fork;
pub use open::OpenFork;
pub use record::MAX_BYTES;
pub use store::{ForkState, Listed, Store};
pub use toolwright_changes::{ChangeKind, EntryKind};
pub use undo::Undone;

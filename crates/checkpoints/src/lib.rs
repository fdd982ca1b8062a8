//! Checkpoints of a directory: what changed, and back again.
//!
//! A store keeps the contents of the files below one directory, outside of it. [`Checkpoints::take`] walks
//! the tree, reads what has changed since the last time, and records it. [`Checkpoints::diff`] tells what
//! changed between two checkpoints, and [`Checkpoints::restore`] brings one back.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use toolwright_checkpoints::{Checkpoints, Options, Origin, Progress, Restore, Take};
//!
//! let (project, store) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! std::fs::write(project.path().join("a.txt"), "one\n")?;
//! let checkpoints = Checkpoints::open(project.path(), store.path(), Options::default())?;
//! let (cancel, progress) = (AtomicBool::new(false), Progress::default());
//! let take = Take { origin: Origin::Ours, label: None, reuse: false };
//! let first = checkpoints.take(take, &cancel, &progress)?;
//! std::fs::write(project.path().join("a.txt"), "two\n")?;
//! checkpoints.take(take, &cancel, &progress)?;
//! let restore =
//!     Restore { target: first.id, until: None, paths: &[], dry_run: false, force: false };
//! checkpoints.restore(restore, None, &cancel, &progress)?;
//! assert_eq!(std::fs::read_to_string(project.path().join("a.txt"))?, "one\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it promises
//!
//! - Nothing is written below the directory but what a restoration brings back. `.git` is neither read
//!   nor changed, and no link is followed.
//! - A restoration changes only what differs, and comes back with contents, modes, links and times.
//! - What somebody else changed since a checkpoint is not overwritten unless that is asked for, and what
//!   they change while a restoration runs is not overwritten at all.
//! - After a kill at any moment the store is whole, and each file is the old or the new one.
//!
//! # Limits
//!
//! Files with several names, pipes, sockets and devices, files of other users (unless the process is the
//! superuser's), and files that are too large or cannot be read are not kept, and are reported. Extended
//! attributes and access lists are not kept. A file with holes comes back without them. A program that has
//! a file open for writing while it is replaced keeps it; where the system cannot tell that it is open
//! (elsewhere than on Linux), what it writes afterwards is lost.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod alone;
mod checkpoints;
mod content;
mod descent;
mod diff;
mod error;
mod gc;
mod head;
mod list;
mod look;
mod options;
mod plan;
mod restore;
mod schema;
mod settle;
mod state;
mod swap;
mod take;
mod touched;
mod unkept;
mod walk;
mod windows;

pub use checkpoints::Checkpoints;
pub use diff::{Change, Diff};
pub use error::{CheckpointError, Conflict, ConflictReason};
pub use gc::{Collected, GcLimits};
pub use list::{Listed, ListedRestore};
pub use options::{Options, Progress};
pub use plan::Restore;
pub use restore::Restored;
pub use state::SkipReason;
pub use take::{Origin, Take, Taken};
pub use toolwright_changes::{ChangeKind, EntryKind};
pub use toolwright_sqlite::{SqliteError, SqliteErrorKind};
pub use windows::{RunningCall, WindowKind};

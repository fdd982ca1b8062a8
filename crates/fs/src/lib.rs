//! Reads and changes files below a root directory, and never outside it.
//!
//! A [`Root`] is a directory descriptor. The kernel resolves every path of a caller *below* that
//! descriptor (`openat2` with `RESOLVE_BENEATH`). Where it cannot do so in one call, this crate walks
//! the path component by component. The result is an open descriptor, never a checked string, so
//! there is no moment between a check and its use.
//!
//! # Operations
//!
//! - [`read()`] returns the bytes of a regular file. Its limit counts the bytes that were read,
//!   whatever size `stat` reports. [`try_read_cached`] does the same for a file that the kernel has
//!   in memory, and never waits.
//! - [`write()`] replaces a whole file by a rename, so other readers see the old bytes or the new
//!   bytes and never a mixture.
//! - [`update`] reads, transforms and replaces a file. If another process changed the file
//!   meanwhile, it fails with [`FsErrorKind::Conflict`]. On Linux it exchanges the new file for the old
//!   one and checks what came out; elsewhere it checks directly before the rename.
//!
//! - [`ChangeSet`] changes several files: all of them, or none.
//! - [`create`], [`delete`], [`rename`] and [`list`] work on the entries of directories.
//!
//! [`write()`], [`update`] and [`ChangeSet`] never change a path that the host protects
//! ([`WriteOptions::protected`]).
//!
//! # Directories
//!
//! A [`DirectoryGrant`] directory serves many calls. It is identified once, and each call works in that
//! directory or fails.
//!
//! [`Roots`] opens what a path names as an [`OpenTarget`] before anything is done to it. A policy can
//! then judge the real path of what was opened, and the operation acts on just that.
//!
//! # Limits
//!
//! Between processes, nothing but the conflict check of [`update`] orders two writers. Hard links,
//! bind mounts and directories that are moved later can make a protected file reachable by another
//! name; see [`WriteOptions::protected`].
//!
//! # Example
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//!
//! use toolwright_fs::{FsError, FsErrorKind, Root, WriteOptions, read, write};
//!
//! let directory = tempfile::tempdir()?;
//! let root = Root::open(directory.path())?;
//! let cancel = AtomicBool::new(false);
//! write(&root, "src/main.rs", b"fn main() {}\n", &WriteOptions::default(), &cancel)?;
//! assert_eq!(read(&root, "src/main.rs", 200_000, &cancel)?, b"fn main() {}\n");
//! let escape = read(&root, "../secret", 200_000, &cancel);
//! assert!(matches!(escape, Err(FsError { kind: FsErrorKind::Escape { .. }, .. })));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attributes;
mod cached_read;
mod cancel;
mod change_set;
mod content;
mod deferred_close;
mod entry;
mod errno;
mod error;
mod file_kind;
mod file_queue;
mod grant;
mod host_access;
mod identity;
mod lines;
mod listed;
mod location;
mod open;
mod open_target;
mod path;
mod protection;
mod publish;
mod range;
mod read;
mod remove;
mod reserved;
mod root;
mod sidecar;
mod sweep;
mod target;
mod temporary;
mod update;
mod utf16_range;
mod walk;
mod witness;
mod write;

pub use cached_read::{try_read_cached, try_read_cached_named};
pub use change_set::{
    Before, Change, ChangeLimits, ChangeSet, ChangedFile, ChangedFiles, FileChange, Inverse, Place,
    Replacement, Watch,
};
pub use content::Content;
pub use entry::create::create;
pub use entry::delete::{Deletable, delete};
pub use entry::list::{ListOptions, Listed, Listing, list};
pub use entry::names::{Named, NamedKind, names};
pub use entry::rename::{Placed, rename};
pub use error::{
    FsError, FsErrorKind, GitRule, NAME_DESCRIPTOR, PUT_BACK, Refusal, SYNC_DIRECTORY,
    WRITE_IN_PLACE,
};
pub use file_kind::FileKind;
pub use grant::{DirectoryGrant, ForkedRoot, RootChange, is_on_local, led_out_of};
pub use host_access::{
    HostRight, host_has, host_may_change_mode, host_may_read, host_may_write, is_read_only,
    other_groups,
};
pub use identity::FileIdentity;
pub use lines::{LineRange, Lines, read_lines};
pub use listed::Opener;
pub use location::FileLocation;
pub use open_target::{LastLink, OpenTarget, Roots, TargetKind};
pub use protection::border::{GitBorder, NewName, is_git_directory};
pub use range::{Range, is_binary, read_part, whole_characters};
pub use read::{read, read_beginning, read_named};
pub use remove::abandoned::remove_abandoned;
pub use remove::remove_tree;
pub use root::{Resolver, Root};
pub use sidecar::Sidecar;
pub use temporary::{is_temporary_name, temporary_name};
pub use update::{UpdateError, Updated, update};
pub use witness::{Present, Witness, update_witnessed, write_witnessed};
pub use write::{Durability, WriteOptions, write, write_content};

//! Processes: which one is this, does another one still run, and what has it started?
//!
//! A pid alone identifies nothing. It is reused, and it means something only within one pid namespace
//! of one boot of one machine. This crate names a process so that no later process, and none of another
//! container or machine, can be mistaken for it, and answers "is it still running?" in one place for
//! everything that leaves a name behind: temporary files, directories of sessions, rows of a journal.
//!
//! ```
//! use toolwright_process::ShortId;
//!
//! let name = format!("{}-part", ShortId::current());
//! let (owner, rest) = ShortId::parse_prefix(&name).expect("written above");
//! assert_eq!((owner.is_running(), rest), (Some(true), "part"));
//!
//! let recycled = ShortId { start: owner.start + 1, ..owner };
//! assert_eq!(recycled.is_running(), Some(false), "the pid is the same, the process is not");
//! ```
//!
//! # Two names
//!
//! | name | holds | for |
//! | --- | --- | --- |
//! | [`Identity`] | machine, boot, pid namespace, pid, start time | rows that another machine may read |
//! | [`ShortId`] | a hash of boot and namespace, pid, start time | names of files |
//!
//! Both answer `None` where pids cannot be compared: in another namespace, or where `/proc` hides what
//! would be needed. The caller then falls back on something else, such as a lock or the age of a file.
//!
//! # What counts as running
//!
//! A process that was killed and not yet reaped by its parent has ended. One whose first thread alone
//! has ended looks the same in `/proc` but for the number of its threads, and still runs. Where the
//! system reports no start time, a process with the same pid counts as the same process, so a reused
//! pid delays a cleanup and never causes one.
//!
//! # Descendants
//!
//! [`Descendants`] finds what a command has started, by the process table. It serves systems without
//! pid namespaces, and its documentation says what it misses.

mod descendants;
mod identity;
mod process_info;
mod short_id;

pub use descendants::Descendants;
pub use identity::Identity;
pub use process_info::ProcessInfo;
pub use short_id::ShortId;

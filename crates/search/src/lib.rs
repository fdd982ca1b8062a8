//! Searches the files below a directory for a regular expression, in process, and prints what
//! `rg -n --no-heading --color never -H PATTERN` prints there, with files in path order.
//!
//! The matching, the line handling, the encodings and the printing are ripgrep's own crates. Three
//! things are ours, because a library inside somebody's process has other duties than a program:
//!
//! * **Nothing outside the root is shown.** The caller passes a function that opens a path below
//!   the root and never leaves it. Directories are listed, ignore files read and contents searched
//!   through what that function returns, so a directory that turns into a symbolic link half way
//!   through leads nowhere. (`ignore`'s walker opens by path and follows a `.gitignore` that is a
//!   FIFO or a link to `/dev/zero`; only its rule matcher is used.) What is read above the root is
//!   ripgrep's list of ignore files in parent directories and git's global excludes; those decide
//!   which names are skipped and are never shown.
//! * **Memory is bounded.** At most `max_output_bytes` of output are held, the search stops where
//!   they are reached, and a single line never takes more than [`LINE_LIMIT`].
//! * **It stops when told to.** A cancel flag and a deadline are polled per directory entry and per
//!   block read inside a file.
//!
//! Two deliberate differences from the program: files are never memory-mapped (a file truncated by
//! another process would kill the host), so a single file is searched as with `--no-mmap`; and
//! `info/exclude` is read from a `.git` directory, not through a worktree's `.git` file.
//!
//! ```no_run
//! use std::{fs::File, path::Path, sync::atomic::AtomicBool};
//! use toolwright_search::{GrepRequest, grep};
//!
//! let root = Path::new("/srv/project");
//! let request = GrepRequest {
//!     root,
//!     start: Path::new(""),
//!     display: Path::new(""),
//!     pattern: "fn main",
//!     max_output_bytes: 200_000,
//!     deadline: None,
//!     cancel: &AtomicBool::new(false),
//! };
//! // A real caller passes an opener that cannot leave the root.
//! let found = grep(&request, &|path| File::open(root.join(path)))?;
//! # Ok::<(), toolwright_search::GrepError>(())
//! ```

mod error;
mod grep;
mod ignores;
mod matcher;
mod output;
mod sink;
mod walk;
mod watch;

pub use error::GrepError;
pub use grep::{GrepRequest, Grepped, LINE_LIMIT, OpenFile, grep};

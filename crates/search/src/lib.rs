//! Searches the files below a directory for a regular expression, in process, and prints what
//! `rg -n --no-heading --color never -H PATTERN` prints there, with files in path order.
//!
//! The matching, the line handling and the encodings are ripgrep's own crates. Three things are ours,
//! because a library inside somebody's process has other duties than a program:
//!
//! * **Nothing outside the root is shown.** The caller passes a function that opens a path below
//!   the root and never leaves it. Directories are listed, ignore files read and contents searched
//!   through what that function returns, so a directory that turns into a symbolic link half way
//!   through leads nowhere. (`ignore`'s walker opens by path and follows a `.gitignore` that is a
//!   FIFO or a link to `/dev/zero`; only its rule matcher is used.) What is read above the root is
//!   ripgrep's list of ignore files in parent directories and git's global excludes; those decide
//!   which names are skipped and are never shown.
//! * **Memory is bounded.** At most `max_output_bytes` of output are held, the search stops where
//!   they are reached, and a single line never takes more than [`LINE_LIMIT`]. What is found ahead
//!   of its turn is held up to some megabytes, and the last patterns and ignore files are kept
//!   compiled, which takes some more.
//! * **It stops when told to.** A cancel flag and a deadline are polled per directory and per block
//!   read inside a file.
//!
//! [`find`] and [`name`] do the same and give records, for a caller who shows some files and not
//! others.
//!
//! [`glob`] walks in the same way and names the files that `rg --files -g PATTERN` would.
//!
//! A search begins with one thread, which is all that a small tree takes. After some hundred files
//! it gets more, as far as the process has not given them to another search. They take the tasks in
//! path order and hand over in path order, so the output does not depend on their number; how far
//! they run ahead of the output is bounded, and they are gone when the call returns.
//!
//! Two deliberate differences from the program: files are never memory-mapped (a file truncated by
//! another process would kill the host), so a single file is searched as with `--no-mmap`; and the
//! `info/exclude` of a worktree below the root is read only if its repository is below the root
//! too.
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

mod beginnings;
mod board;
mod crew;
mod desk;
mod error;
mod file;
mod findings;
mod glob;
mod grep;
mod ignores;
mod kept;
mod listing;
mod matcher;
mod output;
mod records;
mod rules;
mod sink;
mod structured;
mod tree;
mod watch;

#[doc(hidden)]
pub use crew::Spread;
pub use error::GrepError;
#[doc(hidden)]
pub use glob::glob_spread;
pub use glob::{GlobRequest, Globbed, glob};
#[doc(hidden)]
pub use grep::grep_spread;
pub use grep::{GrepRequest, Grepped, LINE_LIMIT, OpenFile, grep};
pub use records::Hit;
pub use structured::{Found, Keep, Named, Scope, Unsearched, find, name};

//! Searches the files below a directory for a regular expression, in process.
//!
//! [`grep`] prints what `rg -n --no-heading --color never -H PATTERN` prints, with files in path
//! order. [`find_lines`] and [`list_files`] return records, for a caller that shows some files and
//! hides others. A pattern for names chooses among the files that the ignore files leave; only the very
//! name of a file beats them. What is left out is counted and named. A [`SecondLook`] finds out why nothing
//! matched such a pattern. [`overview`] counts files by language and by directory, and reads the
//! manifests among them.
//!
//! The matching, the line handling and the encodings are those of ripgrep's own crates. A library
//! inside another process has other duties than a program, so three things are different:
//!
//! * **Nothing outside the root is shown.** The caller passes a function that opens a path below
//!   the root and never leaves it. Directories are listed, ignore files read and contents searched
//!   through that function, so a directory that turns into a symbolic link during the search leads
//!   nowhere. (`ignore`'s walker opens by path and follows a `.gitignore` that is a FIFO or a link
//!   to `/dev/zero`, so only its rule matcher is used.) Above the root, the search reads what
//!   ripgrep reads: ignore files in parent directories and git's global excludes. They decide which
//!   names are ignored and are never shown.
//! * **Memory is bounded.** The output takes at most `max_output_bytes`, the search stops where it
//!   is full, and a single line takes at most [`LINE_LIMIT`]. Results ahead of their turn take some
//!   megabytes. The latest patterns and ignore files stay compiled, which takes some more.
//! * **It can be stopped.** It checks a cancel flag and a deadline per directory and per block that
//!   it reads.
//!
//! # How it works
//!
//! Each function describes its search and leaves its course to one driver, `search.rs`. The driver
//! divides the tree into tasks: a directory, or some files that follow each other in one. It runs
//! them in path order on one thread, which is enough for a small tree. After some hundred files it
//! adds threads, as far as other searches of the process have left some. These take tasks from a
//! `WorkQueue` in path order, and a `ReorderBuffer` puts their results back into that order. So the
//! output does not depend on the number of threads. How far they run ahead of the output is
//! bounded, and they are gone when the call returns.
//!
//! # Differences from ripgrep
//!
//! Files are never memory-mapped, because a file that another process truncates would kill the
//! host; a single file is searched as with `--no-mmap`. The `info/exclude` of a worktree below the
//! root is read only if its repository is below the root too, or names the worktree in turn. A `.git` that
//! is no repository has no effect, and no `.git` is ever walked.
//!
//! # Example
//!
//! ```
//! use std::fs::File;
//! use std::path::Path;
//! use std::sync::atomic::AtomicBool;
//!
//! use toolwright_search::{CutAdvice, GrepOptions, GrepRequest, Parallelism, grep};
//!
//! let directory = tempfile::tempdir()?;
//! std::fs::write(directory.path().join("main.rs"), "fn main() {}\n")?;
//! let root = directory.path().canonicalize()?;
//! let request = GrepRequest {
//!     root: &root,
//!     start: Path::new(""),
//!     display: Path::new(""),
//!     pattern: "fn main",
//!     max_output_bytes: 200_000,
//!     deadline: None,
//!     cancel: &AtomicBool::new(false),
//!     parallelism: Parallelism::default(),
//!     advice: CutAdvice::default(),
//!     options: GrepOptions::default(),
//! };
//! // A real caller passes an opener that cannot leave the root.
//! let found = grep(&request, &|path| File::open(root.join(path)))?;
//! assert_eq!(found.text, b"main.rs:1:fn main() {}\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod error;
mod file_content;
mod file_list;
mod file_search;
mod git_directory;
mod glob_text;
mod grep;
mod ignore_files;
mod ignore_rules;
mod ignores;
mod left_out;
mod line_window;
mod listing;
mod lru_cache;
mod match_buffer;
mod matcher;
mod name_filter;
mod output;
mod overview;
mod parallel;
mod printer;
mod query;
mod reader;
mod records;
mod reorder_buffer;
mod search;
mod second_look;
mod stop_signal;
mod tree;
mod work_queue;
mod worker_output;

pub use error::GrepError;
pub use file_list::{FileList, list_files};
pub use glob_text::escaped;
pub use grep::{GrepText, LineMatches, find_lines, grep};
pub use ignores::{ActiveIgnores, IgnoreMarkers, Ignores};
pub use left_out::{LeftOut, LeftOuts, SearchLeftOuts, Why};
pub use line_window::{LINE_WINDOW, WHOLE_LINE};
pub use output::Unsearched;
pub use overview::{
    Count, DirectoryTally, MAX_DEPTH, MAX_MANIFEST_BYTES, Manifest, ManifestFacts, ManifestProblem,
    Overview, Readme, overview,
};
pub use query::{
    CutAdvice, GrepOptions, GrepRequest, LINE_LIMIT, LineQuery, OpenFile, Parallelism, PathFilter,
    Prints, Scope,
};
pub use records::Hit;
pub use second_look::{Nearby, SecondLook, Way};

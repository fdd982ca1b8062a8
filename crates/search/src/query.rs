//! What a caller asks for.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// The longest line that is searched. A file with a longer one is searched up to it and named at
/// the end of the text.
pub const LINE_LIMIT: usize = 32 << 20;

/// Opens a path below the root, a file or a directory, for reading, without ever leaving the root.
///
/// It must not wait for the other end of a FIFO (`O_NONBLOCK`), and reports an entry that it will
/// not open as an error. Directories are asked for too, `.` for the root.
pub type OpenFile<'a> = dyn Fn(&Path) -> io::Result<File> + Sync + 'a;

/// Whether a file, by its path relative to the root, may be searched or listed.
pub type PathFilter<'a> = dyn Fn(&Path) -> bool + Sync + 'a;

/// When a search gets more threads, and how many.
#[derive(Debug, Clone, Copy)]
pub struct Parallelism {
    /// The first thread opens this many files and directories alone.
    pub threshold: usize,
    /// The number of threads from then on, with the first. `None`: as many as the machine has to
    /// spare.
    pub threads: Option<usize>,
}

impl Default for Parallelism {
    /// As measured: see `docs/decisions/2026-11-20-grep-spreads-over-threads.md`.
    fn default() -> Self {
        Self { threshold: 256, threads: None }
    }
}

/// What [`grep`](crate::grep) searches for, and where.
#[derive(Clone, Copy)]
pub struct GrepRequest<'a> {
    /// The absolute real path of the root. It anchors ignore rules.
    pub root: &'a Path,
    /// Where to search, relative to the root, without symbolic links; empty for the root itself.
    pub start: &'a Path,
    /// The name of `start` in the output, relative to the root; empty for the root.
    pub display: &'a Path,
    /// A regular expression in ripgrep's syntax. `-n` is a pattern like any other.
    pub pattern: &'a str,
    /// The text is never longer than this.
    pub max_output_bytes: usize,
    /// When to give up.
    pub deadline: Option<Instant>,
    /// Set from another thread to stop the search.
    pub cancel: &'a AtomicBool,
    /// How many threads it may take.
    pub parallelism: Parallelism,
    /// What the last line of a text that was cut tells its reader.
    pub advice: CutAdvice<'a>,
    /// What is printed. By default, what ripgrep prints.
    pub options: GrepOptions<'a>,
}

/// Which files a search of lines looks into, and what it prints of them.
#[derive(Debug, Clone, Copy, Default)]
pub struct GrepOptions<'a> {
    /// A pattern for the names of files, relative to the start.
    pub glob: Option<&'a str>,
    /// What is printed for a file that matches.
    pub prints: Prints,
    /// So many lines before and after each match are printed too.
    pub context: usize,
    /// A match may go over the ends of lines.
    pub multiline: bool,
    /// Only a window of a long line is printed, and a start that is ignored is searched. ripgrep does
    /// neither.
    pub is_for_model: bool,
}

/// What is printed for a file that matches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Prints {
    /// Its matching lines.
    #[default]
    Lines,
    /// Its path, and the number of matching lines.
    Counts,
    /// Its path.
    Files,
}

/// The next moves after a text that was cut, each at most a hundred bytes; nothing where it is empty.
#[derive(Debug, Clone, Copy, Default)]
pub struct CutAdvice<'a> {
    /// The first matching line did not fit.
    pub long_line: &'a str,
    /// There were more matching lines.
    pub more_lines: &'a str,
}

/// Where [`find_lines`](crate::find_lines) and [`list_files`](crate::list_files) look, and how much
/// they return.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// The absolute real path of the root. It anchors ignore rules.
    pub root: &'a Path,
    /// Where to search, relative to the root, without symbolic links; empty for the root itself.
    pub start: &'a Path,
    /// Files that it rejects do not exist as far as the search is concerned.
    pub filter: &'a PathFilter<'a>,
    /// At most this many results are returned.
    pub max_results: u64,
    /// The results take at most this many bytes.
    pub max_bytes: usize,
    /// When to give up.
    pub deadline: Option<Instant>,
    /// Set from another thread to stop the search.
    pub cancel: &'a AtomicBool,
    /// How many threads it may take.
    pub parallelism: Parallelism,
}

/// The lines that [`find_lines`](crate::find_lines) looks for.
#[derive(Clone, Copy)]
pub struct LineQuery<'a> {
    /// A regular expression in ripgrep's syntax.
    pub pattern: &'a str,
    /// Patterns for file names, as `rg -g` takes them, relative to the start. They choose among what the
    /// ignore files leave.
    pub globs: &'a [&'a str],
    /// Whether upper and lower case are the same.
    pub case_insensitive: bool,
}

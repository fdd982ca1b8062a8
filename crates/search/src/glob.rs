//! The names of files, from the request to the text.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use ignore::overrides::{Override, OverrideBuilder};

use crate::beginnings::Beginnings;
use crate::board::{Board, Outcome};
use crate::crew::{Errand, Spread, drive};
use crate::desk::Desk;
use crate::error::GrepError;
use crate::grep::{OpenFile, Place, place, refused};
use crate::ignores::Ignores;
use crate::listing::ListError;
use crate::tree::{Tree, Visit};
use crate::watch::{Stopped, Watch};

/// Which files to name, and where.
#[derive(Clone, Copy)]
pub struct GlobRequest<'a> {
    /// The absolute real path of the root.
    pub root: &'a Path,
    /// Where to look, relative to the root, without symbolic links; empty for the root itself.
    pub start: &'a Path,
    /// Patterns as `rg -g` takes them, relative to the root: one without a slash is for names at
    /// any depth, `!` in front passes over what it fits, and a later one wins. They are stronger
    /// than all ignore files. Without any, all files are named that a search would read.
    pub patterns: &'a [&'a str],
    /// Whether hidden files and directories are walked too.
    pub hidden: bool,
    /// No more files than this are named.
    pub max_results: u64,
    /// When to give up.
    pub deadline: Option<Instant>,
    /// Set from another thread to stop.
    pub cancel: &'a AtomicBool,
}

/// The files that were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Globbed {
    /// Paths relative to the root, each with a newline after it, in path order.
    pub text: Vec<u8>,
    /// Whether there are more.
    pub truncated: bool,
    /// How many there are in `text`.
    pub count: u64,
    /// How many directories could not be listed.
    pub unlisted: u64,
}

/// Names files.
pub fn glob(request: &GlobRequest<'_>, open: &OpenFile<'_>) -> Result<Globbed, GrepError> {
    glob_spread(request, open, Spread::MEASURED)
}

/// [`glob`] with threads as told.
#[doc(hidden)]
pub fn glob_spread(
    request: &GlobRequest<'_>,
    open: &OpenFile<'_>,
    spread: Spread,
) -> Result<Globbed, GrepError> {
    let chosen = Chosen::by(request.patterns)?;
    let halt = AtomicBool::new(false);
    let watch = Watch { deadline: request.deadline, cancel: request.cancel, halt: &halt };
    let board = Board::new(usize::MAX, request.max_results, watch, &halt);
    match place(request.start, open).map_err(|error| refused(request.start, error))? {
        Place::Directory => {
            let ignores = Ignores::new(request.root, open, chosen, request.hidden);
            // Names cost next to nothing once they are listed.
            let files_per_task = usize::MAX;
            let tree = Tree { root: request.root, open, watch, ignores, files_per_task };
            match watch.check().map_err(ListError::Stopped).and_then(|()| tree.begin(request.start))
            {
                Ok(tasks) => drive(&tree, &board, tasks, spread, &Naming),
                Err(ListError::Failed(error)) => return Err(refused(request.start, error)),
                Err(ListError::Stopped(stopped)) => board.stop_at(stopped, request.start),
            }
        }
        // As ripgrep does: what is asked for by name is there, whatever the patterns say.
        Place::File(_) => {
            let desk = Desk::new(&board);
            desk.enter(request.start);
            desk.line(request.start.as_os_str().as_bytes());
            desk.flush();
        }
        Place::Other => {
            return Err(GrepError::NotSearchable { path: request.start.to_owned() });
        }
    }
    ended(board.into_outcome())
}

fn ended(outcome: Outcome) -> Result<Globbed, GrepError> {
    let Outcome { output, skipped, stopped } = outcome;
    let truncated = output.is_full();
    let (text, count) = output.into_lines();
    match stopped {
        None => Ok(Globbed { text, truncated, count, unlisted: skipped.total() }),
        Some((Stopped::TimedOut, path)) => {
            Err(GrepError::TimedOut { path, partial: text, matches: count })
        }
        Some((_, path)) => Err(GrepError::Cancelled { path }),
    }
}

/// Which names the caller has chosen.
pub(crate) struct Chosen {
    pub(crate) rules: Override,
    pub(crate) beginnings: Beginnings,
}

impl Chosen {
    /// All that no rule passes over.
    pub(crate) fn everything() -> Self {
        Self { rules: Override::empty(), beginnings: Beginnings::default() }
    }

    /// Those that fit patterns, and are not taken away by one with `!`.
    pub(crate) fn by(patterns: &[&str]) -> Result<Self, GrepError> {
        let mut builder = OverrideBuilder::new(PathBuf::new());
        for &pattern in patterns {
            builder.add(pattern).map_err(|error| bad(pattern, &error))?;
        }
        let rules = builder.build().map_err(|error| bad(&patterns.join(" "), &error))?;
        Ok(Self { rules, beginnings: Beginnings::of(patterns) })
    }
}

fn bad(pattern: &str, error: &ignore::Error) -> GrepError {
    GrepError::Glob { pattern: pattern.to_owned(), message: error.to_string() }
}

struct Naming;

impl Errand for Naming {
    fn visit<'d>(&'d self, desk: &'d Desk<'_>) -> Box<dyn Visit + 'd> {
        Box::new(Names { desk })
    }
}

struct Names<'d> {
    desk: &'d Desk<'d>,
}

impl Visit for Names<'_> {
    fn file(&mut self, path: &Path) -> Result<bool, Stopped> {
        let more = self.desk.line(path.as_os_str().as_bytes());
        self.desk.stopped().map_or(Ok(more), Err)
    }
}

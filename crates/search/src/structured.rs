//! Searches that give records, count what they have searched, and pass over what the caller does
//! not let them see.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use grep_searcher::BinaryDetection;

use crate::board::{Board, Outcome};
use crate::crew::{Errand, Spread, drive};
use crate::desk::Desk;
use crate::error::GrepError;
use crate::file::{FileSearch, Form, Unread, WalkSearch};
use crate::glob::Chosen;
use crate::grep::{GrepRequest, OpenFile, Place, place, refused};
use crate::ignores::Ignores;
use crate::listing::ListError;
use crate::matcher::matcher;
use crate::records::{self, Hit};
use crate::tree::{Tree, Visit};
use crate::watch::{Stopped, Watch};

/// A thread takes so many files at once, if they follow each other in one directory.
const FILES_PER_TASK: usize = 16;

/// Whether a file, by its path relative to the root, may be looked at or named.
pub type Keep<'a> = dyn Fn(&Path) -> bool + Sync + 'a;

/// What both kinds of search are told.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// The absolute real path of the root. Used to list the root itself and to place ignore rules.
    pub root: &'a Path,
    /// Where to search, relative to the root, without symbolic links; empty for the root itself.
    pub start: &'a Path,
    /// Which files there are, as far as the caller is concerned.
    pub keep: &'a Keep<'a>,
    /// No more records than these are kept.
    pub max_records: u64,
    /// They take no more than this.
    pub max_bytes: usize,
    /// When to give up.
    pub deadline: Option<Instant>,
    /// Set from another thread to stop the search.
    pub cancel: &'a AtomicBool,
}

/// What a search was kept from: it says nothing about what is in there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unsearched {
    /// The first ones, by their paths relative to the root, and why.
    pub named: Vec<(PathBuf, String)>,
    /// How many there are.
    pub total: u64,
}

/// Matching lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    records: Vec<u8>,
    /// How many there are.
    pub count: u64,
    /// Whether there are more.
    pub truncated: bool,
    /// How many files were searched.
    pub files_scanned: u64,
    /// What could not be, or not to its end.
    pub unsearched: Unsearched,
}

impl Found {
    /// The lines, in the order of paths and in each file from the top.
    pub fn hits(&self) -> impl Iterator<Item = Hit<'_>> {
        records::hits(&self.records)
    }
}

/// Files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    records: Vec<u8>,
    /// How many there are.
    pub count: u64,
    /// Whether there are more.
    pub truncated: bool,
    /// The directories that could not be listed.
    pub unlisted: Unsearched,
}

impl Named {
    /// Their paths relative to the root, in order.
    pub fn paths(&self) -> impl Iterator<Item = Cow<'_, Path>> {
        records::names(&self.records)
    }
}

/// Searches for lines that match `pattern`, in files whose names fit `globs` (as `rg -g` takes
/// them). Binary files are passed over.
pub fn find(
    scope: &Scope<'_>,
    pattern: &str,
    globs: &[&str],
    case_insensitive: bool,
    open: &OpenFile<'_>,
) -> Result<Found, GrepError> {
    let regex = matcher(pattern, case_insensitive)?;
    let chosen = Chosen::by(globs)?;
    let request = GrepRequest {
        root: scope.root,
        start: scope.start,
        display: scope.start,
        pattern,
        max_output_bytes: scope.max_bytes,
        deadline: scope.deadline,
        cancel: scope.cancel,
    };
    let halt = AtomicBool::new(false);
    let watch = Watch { deadline: scope.deadline, cancel: scope.cancel, halt: &halt };
    let board = Board::new(scope.max_bytes, scope.max_records, watch, &halt);
    let scanned = AtomicU64::new(0);
    match place(scope.start, open).map_err(|error| refused(scope.start, error))? {
        Place::Directory => {
            let ignores = Ignores::new(scope.root, open, chosen, false);
            let tree =
                Tree { root: scope.root, open, watch, ignores, files_per_task: FILES_PER_TASK };
            let search = WalkSearch { request: &request, open, watch, regex, form: Form::Record };
            let errand = Finding { search, keep: scope.keep, scanned: &scanned };
            walk(scope, &tree, &board, &errand)?;
        }
        Place::File(file) => {
            let desk = Desk::new(&board);
            desk.enter(scope.start);
            if (scope.keep)(scope.start) {
                scanned.fetch_add(1, Ordering::Relaxed);
                let binary = BinaryDetection::quit(0);
                let mut search =
                    FileSearch::new(&request, open, watch, regex, binary, Form::Record, &desk);
                match search.search(&file, 0, scope.start) {
                    Ok(Err(Unread::Failed(error))) => return Err(refused(scope.start, error)),
                    Ok(Err(unread)) => search.skip(scope.start, &unread),
                    Ok(Ok(())) => {}
                    Err(stopped) => board.stop(stopped, None, desk.take()),
                }
            }
            desk.flush();
        }
        Place::Other => return Err(GrepError::NotSearchable { path: scope.start.to_owned() }),
    }
    let (records, count, truncated, unsearched) = ended(board.into_outcome())?;
    let files_scanned = scanned.into_inner();
    Ok(Found { records, count, truncated, files_scanned, unsearched })
}

/// Names files that fit `globs`, as `rg --files -g` does.
pub fn name(scope: &Scope<'_>, globs: &[&str], open: &OpenFile<'_>) -> Result<Named, GrepError> {
    let chosen = Chosen::by(globs)?;
    let halt = AtomicBool::new(false);
    let watch = Watch { deadline: scope.deadline, cancel: scope.cancel, halt: &halt };
    let board = Board::new(scope.max_bytes, scope.max_records, watch, &halt);
    match place(scope.start, open).map_err(|error| refused(scope.start, error))? {
        Place::Directory => {
            let ignores = Ignores::new(scope.root, open, chosen, false);
            let files_per_task = usize::MAX;
            let tree = Tree { root: scope.root, open, watch, ignores, files_per_task };
            walk(scope, &tree, &board, &Naming(scope.keep))?;
        }
        Place::File(_) | Place::Other => {
            return Err(GrepError::NotSearchable { path: scope.start.to_owned() });
        }
    }
    let (records, count, truncated, unlisted) = ended(board.into_outcome())?;
    Ok(Named { records, count, truncated, unlisted })
}

fn walk(
    scope: &Scope<'_>,
    tree: &Tree<'_>,
    board: &Board<'_>,
    errand: &dyn Errand,
) -> Result<(), GrepError> {
    let tasks = tree.watch.check().map_err(ListError::Stopped);
    match tasks.and_then(|()| tree.begin(scope.start)) {
        Ok(tasks) => drive(tree, board, tasks, Spread::MEASURED, errand),
        Err(ListError::Failed(error)) => return Err(refused(scope.start, error)),
        Err(ListError::Stopped(stopped)) => board.stop_at(stopped, scope.start),
    }
    Ok(())
}

/// Records, how many, whether there are more, and what could not be looked at.
fn ended(outcome: Outcome) -> Result<(Vec<u8>, u64, bool, Unsearched), GrepError> {
    let Outcome { output, skipped, stopped } = outcome;
    let truncated = output.is_full();
    let (records, count) = output.into_lines();
    match stopped {
        None => Ok((records, count, truncated, skipped.into_unsearched())),
        Some((Stopped::TimedOut, path)) => {
            Err(GrepError::TimedOut { path, partial: text(&records), matches: count })
        }
        Some((_, path)) => Err(GrepError::Cancelled { path }),
    }
}

/// What was found until the time was over, as text.
fn text(records: &[u8]) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    let mut text = Vec::with_capacity(records.len());
    for hit in records::hits(records) {
        text.extend_from_slice(hit.path.as_os_str().as_bytes());
        text.extend_from_slice(format!(":{}:", hit.line).as_bytes());
        text.extend_from_slice(hit.text);
        text.push(b'\n');
    }
    text
}

struct Finding<'a> {
    search: WalkSearch<'a>,
    keep: &'a Keep<'a>,
    scanned: &'a AtomicU64,
}

impl Errand for Finding<'_> {
    fn visit<'d>(&'d self, desk: &'d Desk<'_>) -> Box<dyn Visit + 'd> {
        let (keep, scanned) = (self.keep, self.scanned);
        Box::new(Kept { inner: self.search.visit(desk), keep, scanned })
    }
}

struct Kept<'d> {
    inner: Box<dyn Visit + 'd>,
    keep: &'d Keep<'d>,
    scanned: &'d AtomicU64,
}

impl Visit for Kept<'_> {
    fn file(&mut self, path: &Path) -> Result<bool, Stopped> {
        if !(self.keep)(path) {
            return Ok(true);
        }
        self.scanned.fetch_add(1, Ordering::Relaxed);
        self.inner.file(path)
    }
}

struct Naming<'a>(&'a Keep<'a>);

impl Errand for Naming<'_> {
    fn visit<'d>(&'d self, desk: &'d Desk<'_>) -> Box<dyn Visit + 'd> {
        Box::new(Names { desk, keep: self.0 })
    }
}

struct Names<'d> {
    desk: &'d Desk<'d>,
    keep: &'d Keep<'d>,
}

impl Visit for Names<'_> {
    fn file(&mut self, path: &Path) -> Result<bool, Stopped> {
        use std::os::unix::ffi::OsStrExt;
        if !(self.keep)(path) {
            return Ok(true);
        }
        let more = self.desk.line(&records::encoded(path.as_os_str().as_bytes()));
        self.desk.stopped().map_or(Ok(more), Err)
    }
}

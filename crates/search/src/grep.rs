//! One search, from the request to the text.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use grep_searcher::BinaryDetection;

use crate::board::{Board, Outcome};
use crate::crew::{Spread, drive};
use crate::desk::Desk;
use crate::error::GrepError;
use crate::file::{FileSearch, Form, Unread, WalkSearch};
use crate::glob::Chosen;
use crate::ignores::Ignores;
use crate::listing::{ListError, displayed};
use crate::matcher::matcher;
use crate::tree::Tree;
use crate::watch::{Stopped, Watch};

/// The longest line that is searched. A file with a longer one is searched up to it and named at
/// the end of the text.
pub const LINE_LIMIT: usize = 32 << 20;

/// A thread takes so many files at once, if they follow each other in one directory.
const FILES_PER_TASK: usize = 16;

/// What to search for, and where.
#[derive(Clone, Copy)]
pub struct GrepRequest<'a> {
    /// The absolute real path of the root. Used to list the root itself and to place ignore rules.
    pub root: &'a Path,
    /// Where to search, relative to the root, without symbolic links; empty for the root itself.
    pub start: &'a Path,
    /// How `start` is called in the output, relative to the root; empty for the root.
    pub display: &'a Path,
    /// A regular expression in ripgrep's syntax. `-n` is a pattern like any other.
    pub pattern: &'a str,
    /// The text is never longer than this.
    pub max_output_bytes: usize,
    /// When to give up.
    pub deadline: Option<Instant>,
    /// Set from another thread to stop the search.
    pub cancel: &'a AtomicBool,
}

/// Opens a path below the root, a file or a directory, for reading, without ever leaving the root.
///
/// It must not wait for the other end of a FIFO (`O_NONBLOCK`), and reports an entry that it will
/// not open as an error. Directories are asked for too, `.` for the root.
pub type OpenFile<'a> = dyn Fn(&Path) -> io::Result<File> + Sync + 'a;

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grepped {
    /// `path:line:text` lines, then notes on what was not searched, then a line that says so if
    /// the output was cut. Empty when nothing matched and everything could be read.
    pub text: Vec<u8>,
    /// Whether there were more matches than fitted.
    pub truncated: bool,
    /// How many matching lines `text` holds.
    pub matches: u64,
    /// How many files and directories could not be searched, whether or not they had room in
    /// `text`.
    pub unsearched: u64,
}

/// Searches.
pub fn grep(request: &GrepRequest<'_>, open: &OpenFile<'_>) -> Result<Grepped, GrepError> {
    grep_spread(request, open, Spread::MEASURED)
}

/// [`grep`] with threads as told.
#[doc(hidden)]
pub fn grep_spread(
    request: &GrepRequest<'_>,
    open: &OpenFile<'_>,
    spread: Spread,
) -> Result<Grepped, GrepError> {
    let regex = matcher(request.pattern, false)?;
    let halt = AtomicBool::new(false);
    let watch = Watch { deadline: request.deadline, cancel: request.cancel, halt: &halt };
    let board = Board::new(request.max_output_bytes, u64::MAX, watch, &halt);
    match place(request.start, open) {
        Ok(Place::File(file)) => {
            let desk = Desk::new(&board);
            // It was named, so it is searched to its end even if it is binary.
            let binary = BinaryDetection::convert(0);
            let mut search =
                FileSearch::new(request, open, watch, regex, binary, Form::Text, &desk);
            explicit(&mut search, request, &file, &desk, &board)?;
        }
        Ok(Place::Directory) => {
            let ignores = Ignores::new(request.root, open, Chosen::everything(), false);
            let tree =
                Tree { root: request.root, open, watch, ignores, files_per_task: FILES_PER_TASK };
            match watch.check().map_err(ListError::Stopped).and_then(|()| tree.begin(request.start))
            {
                Ok(tasks) => {
                    let errand = WalkSearch { request, open, watch, regex, form: Form::Text };
                    drive(&tree, &board, tasks, spread, &errand);
                }
                Err(ListError::Failed(error)) => return Err(refused(request.display, error)),
                Err(ListError::Stopped(stopped)) => board.stop_at(stopped, request.start),
            }
        }
        Ok(Place::Other) => {
            return Err(GrepError::NotSearchable { path: request.display.to_owned() });
        }
        Err(error) => return Err(refused(request.display, error)),
    }
    ended(board.into_outcome(), request)
}

fn ended(outcome: Outcome, request: &GrepRequest<'_>) -> Result<Grepped, GrepError> {
    let called = |path: &Path| displayed(path, request.start, request.display);
    let Outcome { output, mut skipped, stopped } = outcome;
    match stopped {
        None => {
            skipped.call(called);
            let path = called(output.stopped_in());
            let unsearched = skipped.total();
            let (text, truncated, matches) = output.into_text(&path, &skipped);
            Ok(Grepped { text, truncated, matches, unsearched })
        }
        Some((Stopped::TimedOut, at)) => {
            let (partial, matches) = output.into_lines();
            Err(GrepError::TimedOut { path: called(&at), partial, matches })
        }
        Some((_, at)) => Err(GrepError::Cancelled { path: called(&at) }),
    }
}

/// Searches the one file that was asked for. Failing to read it fails the search.
fn explicit(
    search: &mut FileSearch<'_>,
    request: &GrepRequest<'_>,
    file: &File,
    desk: &Desk<'_>,
    board: &Board<'_>,
) -> Result<(), GrepError> {
    desk.enter(request.start);
    match search.search(file, 0, request.start) {
        Ok(Err(Unread::Failed(error))) => return Err(refused(request.display, error)),
        Ok(Err(unread)) => search.skip(request.start, &unread),
        Ok(Ok(())) => {}
        Err(stopped) => {
            board.stop(stopped, None, desk.take());
            return Ok(());
        }
    }
    desk.flush();
    Ok(())
}

/// What is at the start path.
pub(crate) enum Place {
    File(File),
    Directory,
    Other,
}

pub(crate) fn place(start: &Path, open: &OpenFile<'_>) -> io::Result<Place> {
    if start.as_os_str().is_empty() {
        return Ok(Place::Directory);
    }
    let file = open(start)?;
    let metadata = file.metadata()?;
    Ok(if metadata.is_dir() {
        Place::Directory
    } else if metadata.is_file() {
        Place::File(file)
    } else {
        Place::Other
    })
}

pub(crate) fn refused(display: &Path, source: io::Error) -> GrepError {
    let path = display.to_owned();
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => GrepError::Missing { path },
        _ => GrepError::Unreadable { path, source },
    }
}

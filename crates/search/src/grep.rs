//! One search, from the request to the text.

use std::{
    cell::{Cell, RefCell},
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::Instant,
};

use grep_printer::{Standard, StandardBuilder};
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder};
use termcolor::NoColor;

use crate::{
    error::GrepError,
    matcher::matcher,
    output::{Output, Skipped, Writer},
    sink::Committing,
    walk::{Met, Walk, displayed, has_moved},
    watch::{ReadEnd, Stopped, Watch, Watched},
};

/// The longest line that is searched. A file with a longer one is searched up to it and named at
/// the end of the text.
pub const LINE_LIMIT: usize = 32 << 20;

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
    let regex = matcher(request.pattern)?;
    let output = RefCell::new(Output::new(request.max_output_bytes));
    let mut search = Search {
        request,
        open,
        watch: Watch { deadline: request.deadline, cancel: request.cancel },
        searcher: searcher(),
        printer: StandardBuilder::new().build_no_color(Writer(&output)),
        regex,
        output: &output,
        skipped: Skipped::default(),
        at: request.start.to_owned(),
    };
    let ended = search.run();
    let Search { skipped, at, printer, .. } = search;
    drop(printer);
    let path = displayed(&at, request.start, request.display);
    let output = output.into_inner();
    match ended {
        Ok(()) => {
            let unsearched = skipped.total();
            let (text, truncated, matches) = output.into_text(&path, &skipped);
            Ok(Grepped { text, truncated, matches, unsearched })
        }
        Err(Ended::Refused(error)) => Err(error),
        Err(Ended::Stopped(Stopped::Cancelled)) => Err(GrepError::Cancelled { path }),
        Err(Ended::Stopped(Stopped::TimedOut)) => {
            let (partial, matches) = output.into_lines();
            Err(GrepError::TimedOut { path, partial, matches })
        }
    }
}

/// As ripgrep builds it without flags, but never with a memory map and with bounded memory.
fn searcher() -> Searcher {
    SearcherBuilder::new()
        .line_number(true)
        .memory_map(MmapChoice::never())
        .heap_limit(Some(LINE_LIMIT))
        .build()
}

enum Ended {
    Stopped(Stopped),
    Refused(GrepError),
}

impl From<Stopped> for Ended {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

struct Search<'a> {
    request: &'a GrepRequest<'a>,
    open: &'a OpenFile<'a>,
    watch: Watch<'a>,
    regex: RegexMatcher,
    searcher: Searcher,
    printer: Standard<NoColor<Writer<'a>>>,
    output: &'a RefCell<Output>,
    skipped: Skipped,
    /// The path being searched, relative to the root.
    at: PathBuf,
}

impl Search<'_> {
    fn run(&mut self) -> Result<(), Ended> {
        self.watch.check()?;
        match self.start()? {
            Some(file) => self.explicit(&file),
            None => self.walk(),
        }
    }

    /// The start path if it is a file, `None` if it is a directory.
    fn start(&self) -> Result<Option<File>, Ended> {
        let start = self.request.start;
        if start.as_os_str().is_empty() {
            return Ok(None);
        }
        let file = (self.open)(start).map_err(|error| self.refused(error))?;
        let metadata = file.metadata().map_err(|error| self.refused(error))?;
        if metadata.is_dir() {
            return Ok(None);
        }
        if metadata.is_file() {
            return Ok(Some(file));
        }
        Err(Ended::Refused(GrepError::NotSearchable { path: self.request.display.to_owned() }))
    }

    /// Searches the one file that was asked for. It was named, so it is searched to its end even
    /// if it is binary, and failing to read it fails the search.
    fn explicit(&mut self, file: &File) -> Result<(), Ended> {
        self.searcher.set_binary_detection(BinaryDetection::convert(0));
        match self.file(file)? {
            Ok(()) => Ok(()),
            Err(Unread::Failed(error)) => Err(self.refused(error)),
            Err(Unread::LongLine) => {
                self.skip(&self.at.clone(), &Unread::LongLine);
                Ok(())
            }
        }
    }

    fn walk(&mut self) -> Result<(), Ended> {
        self.searcher.set_binary_detection(BinaryDetection::quit(0));
        let GrepRequest { root, start, .. } = *self.request;
        let mut walk =
            Walk::new(root, start, self.open, self.watch)?.map_err(|error| self.refused(error))?;
        while let Some(met) = walk.next()? {
            match met {
                Met::File(path) => self.found(path)?,
                Met::Unreadable(path, error) => self.skip(&path, &Unread::Failed(error)),
            }
            if self.output.borrow().is_full() {
                break;
            }
        }
        Ok(())
    }

    /// Searches a file the walk met.
    fn found(&mut self, path: PathBuf) -> Result<(), Stopped> {
        self.at = path;
        let unread = match (self.open)(&self.at) {
            Err(error) => Unread::Failed(error),
            // It may have become a FIFO or a device since it was listed.
            Ok(file) if !file.metadata().is_ok_and(|metadata| metadata.is_file()) => return Ok(()),
            Ok(file) => match self.file(&file)? {
                Ok(()) => return Ok(()),
                Err(unread) => unread,
            },
        };
        match unread {
            Unread::Failed(error) if has_moved(&error) => {}
            unread => self.skip(&self.at.clone(), &unread),
        }
        Ok(())
    }

    fn file(&mut self, file: &File) -> Result<Result<(), Unread>, Stopped> {
        let end = Cell::new(ReadEnd::Fine);
        let reader = Watched::new(file, self.watch, &end);
        let path = displayed(&self.at, self.request.start, self.request.display);
        let sink = Committing {
            printer: self.printer.sink_with_path(&self.regex, &path),
            output: self.output,
        };
        let Err(error) = self.searcher.search_reader(&self.regex, reader, sink) else {
            return Ok(Ok(()));
        };
        match end.get() {
            ReadEnd::Stopped(stopped) => Err(stopped),
            ReadEnd::Failed => Ok(Err(Unread::Failed(error))),
            // The file was read without an error and the writer has none: the line buffer is full.
            ReadEnd::Fine => Ok(Err(Unread::LongLine)),
        }
    }

    fn skip(&mut self, path: &Path, unread: &Unread) {
        let path = displayed(path, self.request.start, self.request.display);
        self.skipped.add(path, unread.to_string());
    }

    fn refused(&self, source: io::Error) -> Ended {
        let path = self.request.display.to_owned();
        Ended::Refused(match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => GrepError::Missing { path },
            _ => GrepError::Unreadable { path, source },
        })
    }
}

/// Why a file was not searched to its end.
#[derive(Debug, thiserror::Error)]
enum Unread {
    #[error("{0}")]
    Failed(io::Error),
    #[error("holds a line longer than {} MiB, searched up to there", LINE_LIMIT >> 20)]
    LongLine,
}

//! The search of one file after the other, by one thread.

use std::{
    cell::Cell,
    fs::File,
    io::{self, Seek},
    path::Path,
};

use grep_printer::{Standard, StandardBuilder};
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder};
use rustix::fs::{FileType, fstat};
use termcolor::NoColor;

use crate::{
    crew::Errand,
    desk::{Desk, Writer},
    grep::{GrepRequest, LINE_LIMIT, OpenFile},
    listing::{displayed, has_moved},
    sink::Committing,
    tree::Visit,
    watch::{ReadEnd, Stopped, Watch, Watched},
};

pub(crate) struct FileSearch<'a> {
    request: &'a GrepRequest<'a>,
    open: &'a OpenFile<'a>,
    watch: Watch<'a>,
    regex: RegexMatcher,
    searcher: Searcher,
    printer: Standard<NoColor<Writer<'a>>>,
    desk: &'a Desk<'a>,
}

impl<'a> FileSearch<'a> {
    pub(crate) fn new(
        request: &'a GrepRequest<'a>,
        open: &'a OpenFile<'a>,
        watch: Watch<'a>,
        regex: RegexMatcher,
        binary: BinaryDetection,
        desk: &'a Desk<'a>,
    ) -> Self {
        let searcher = searcher(binary);
        let printer = StandardBuilder::new().build_no_color(Writer(desk));
        Self { request, open, watch, regex, searcher, printer, desk }
    }

    /// Searches an open file of `size` bytes, called `path` relative to the root.
    pub(crate) fn search(
        &mut self,
        file: &File,
        size: u64,
        path: &Path,
    ) -> Result<Result<(), Unread>, Stopped> {
        let end = Cell::new(ReadEnd::Fine);
        let shown;
        let path = if self.request.display == self.request.start {
            path
        } else {
            shown = displayed(path, self.request.start, self.request.display);
            &shown
        };
        let plain = Watched::new(file, size, self.watch, &end);
        let sink =
            Committing { printer: self.printer.sink_with_path(&self.regex, path), desk: self.desk };
        let mut ended = self.searcher.search_reader(&self.regex, plain, sink);
        if end.get() == ReadEnd::Utf16 {
            let mut file = file;
            if let Err(error) = file.rewind() {
                return Ok(Err(Unread::Failed(error)));
            }
            let sink = Committing {
                printer: self.printer.sink_with_path(&self.regex, path),
                desk: self.desk,
            };
            let marked = Watched::unmarked(file, self.watch, &end);
            ended = self.searcher.search_reader(&self.regex, marked, sink);
        }
        if let Some(stopped) = self.desk.stopped() {
            return Err(stopped);
        }
        let Err(error) = ended else {
            return Ok(Ok(()));
        };
        match end.get() {
            ReadEnd::Stopped(stopped) => Err(stopped),
            ReadEnd::Failed => Ok(Err(Unread::Failed(error))),
            // The file was read without an error and the writer has none: the line buffer is full.
            ReadEnd::Fine | ReadEnd::Utf16 => Ok(Err(Unread::LongLine)),
        }
    }

    /// Notes that a file was not searched, or not to its end.
    pub(crate) fn skip(&self, path: &Path, unread: &Unread) {
        self.desk.skip(path, unread.to_string());
    }
}

impl Visit for FileSearch<'_> {
    fn file(&mut self, path: &Path) -> Result<bool, Stopped> {
        self.desk.count();
        let searched = match (self.open)(path) {
            Err(error) => Err(Unread::Failed(error)),
            Ok(file) => match size_of(&file) {
                // It may have become a FIFO or a device since it was listed.
                None => Ok(()),
                Some(size) => self.search(&file, size, path)?,
            },
        };
        match searched {
            Ok(()) => {}
            Err(Unread::Failed(error)) if has_moved(&error) => {}
            Err(unread) => self.skip(path, &unread),
        }
        Ok(self.desk.file_done())
    }
}

/// A search of whatever the walk meets.
pub(crate) struct WalkSearch<'a> {
    pub(crate) request: &'a GrepRequest<'a>,
    pub(crate) open: &'a OpenFile<'a>,
    pub(crate) watch: Watch<'a>,
    pub(crate) regex: RegexMatcher,
}

impl Errand for WalkSearch<'_> {
    fn visit<'d>(&'d self, desk: &'d Desk<'_>) -> Box<dyn Visit + 'd> {
        let Self { request, open, watch, ref regex } = *self;
        let binary = BinaryDetection::quit(0);
        Box::new(FileSearch::new(request, open, watch, regex.clone(), binary, desk))
    }
}

/// The size of a regular file.
fn size_of(file: &File) -> Option<u64> {
    let stat = fstat(file).ok()?;
    let regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    regular.then(|| u64::try_from(stat.st_size).unwrap_or(0))
}

/// As ripgrep builds it without flags, but never with a memory map and with bounded memory.
fn searcher(binary: BinaryDetection) -> Searcher {
    SearcherBuilder::new()
        .line_number(true)
        .memory_map(MmapChoice::never())
        .heap_limit(Some(LINE_LIMIT))
        .binary_detection(binary)
        .build()
}

/// Why a file was not searched to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unread {
    #[error("{0}")]
    Failed(io::Error),
    #[error("holds a line longer than {} MiB, searched up to there", LINE_LIMIT >> 20)]
    LongLine,
}

//! Searches files for matching lines, one after the other, on one thread.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Seek};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder};
use rustix::fs::{FileType, fstat};

use crate::listing::{FileMetadata, WalkError, display_path, has_moved};
use crate::parallel::VisitorBuilder;
use crate::printer::{Format, Layout, LinePrinter};
use crate::query::{GrepOptions, LINE_LIMIT, OpenFile, Scope};
use crate::reader::{InterruptibleReader, ReadEnd};
use crate::stop_signal::Stopped;
use crate::tree::Visitor;
use crate::worker_output::WorkerOutput;

/// Files up to this size are searched in one piece. The searcher looks for binary data in it as it
/// does in the first block of a larger file, which has the same length.
const MAX_PIECE: u64 = 64 << 10;

/// A search for lines, on as many threads as there are.
pub(crate) struct LineSearch<'a> {
    scope: &'a Scope<'a>,
    /// The name of the start in the output.
    display: &'a Path,
    open: &'a OpenFile<'a>,
    matcher: RegexMatcher,
    layout: Layout,
    options: GrepOptions<'a>,
    /// Counts the files that passed the filter.
    pub(crate) files_searched: AtomicU64,
}

impl<'a> LineSearch<'a> {
    pub(crate) fn new(
        scope: &'a Scope<'a>,
        display: &'a Path,
        open: &'a OpenFile<'a>,
        matcher: RegexMatcher,
        layout: Layout,
        options: GrepOptions<'a>,
    ) -> Self {
        Self { scope, display, open, matcher, layout, options, files_searched: AtomicU64::new(0) }
    }

    fn accepts(&self, path: &Path) -> bool {
        let accepted = (self.scope.filter)(path);
        if accepted {
            self.files_searched.fetch_add(1, Ordering::Relaxed);
        }
        accepted
    }
}

impl VisitorBuilder for LineSearch<'_> {
    fn max_files_per_task(&self) -> usize {
        16
    }

    fn build<'o>(&'o self, output: &'o WorkerOutput<'_>) -> Box<dyn Visitor + 'o> {
        Box::new(FileSearch::new(self, output, BinaryDetection::quit(0)))
    }

    fn visit_start(&self, file: &File, output: &WorkerOutput<'_>) -> Result<(), WalkError> {
        if !self.accepts(self.scope.start) {
            return Ok(());
        }
        let binary = match self.layout.format {
            // As in ripgrep, a file that was named is searched to its end even if it is binary.
            Format::Text => BinaryDetection::convert(0),
            Format::Record => BinaryDetection::quit(0),
        };
        let searched = FileSearch::new(self, output, binary).search(file, 0, self.scope.start);
        match searched.map_err(WalkError::Stopped)? {
            Ok(()) => {}
            Err(Unread::Failed(error)) => return Err(error.into()),
            Err(unread) => output.skip(self.scope.start, unread.to_string()),
        }
        Ok(())
    }
}

/// The state of one thread.
struct FileSearch<'a> {
    search: &'a LineSearch<'a>,
    output: &'a WorkerOutput<'a>,
    matcher: RegexMatcher,
    binary: BinaryDetection,
    /// Searches files in one piece. The other searcher zeroes a whole block before it reads.
    piece_searcher: Searcher,
    piece: Vec<u8>,
    block_searcher: Option<Searcher>,
}

impl<'a> FileSearch<'a> {
    fn new(
        search: &'a LineSearch<'a>,
        output: &'a WorkerOutput<'a>,
        binary: BinaryDetection,
    ) -> Self {
        Self {
            search,
            output,
            matcher: search.matcher.clone(),
            piece_searcher: searcher(&binary, 1, &search.options).bom_sniffing(false).build(),
            piece: Vec::new(),
            block_searcher: None,
            binary,
        }
    }

    /// Searches an open file of `size` bytes at `path`, relative to the root.
    fn search(
        &mut self,
        file: &File,
        size: u64,
        path: &Path,
    ) -> Result<Result<(), Unread>, Stopped> {
        let end = Cell::new(ReadEnd::Fine);
        let displayed;
        let LineSearch { scope: Scope { start, .. }, display, .. } = self.search;
        let path = if display == start {
            path
        } else {
            displayed = display_path(path, start, display);
            &displayed
        };
        let stop_signal = self.output.stop_signal();
        let reader = InterruptibleReader::new(file, size, stop_signal, &end);
        let mut result = if size > 0 && size <= MAX_PIECE && self.binary.quit_byte().is_some() {
            self.search_piece(reader, size, path)
        } else {
            self.search_blocks(reader, path)
        };
        if end.get() == ReadEnd::Utf16 {
            let mut file = file;
            if let Err(error) = file.rewind() {
                return Ok(Err(Unread::Failed(error)));
            }
            let reader = InterruptibleReader::unmarked(file, stop_signal, &end);
            result = self.search_blocks(reader, path);
        }
        if let Some(stopped) = self.output.stopped() {
            return Err(stopped);
        }
        let Err(error) = result else {
            return Ok(Ok(()));
        };
        match end.get() {
            ReadEnd::Stopped(stopped) => Err(stopped),
            ReadEnd::Failed => Ok(Err(Unread::Failed(error))),
            // Neither the reader nor the printer fails otherwise: the line buffer is full.
            ReadEnd::Fine | ReadEnd::Utf16 => Ok(Err(if self.search.options.multiline {
                Unread::LongFile
            } else {
                Unread::LongLine
            })),
        }
    }

    fn search_piece(
        &mut self,
        file: InterruptibleReader<'_, &File>,
        size: u64,
        path: &Path,
    ) -> io::Result<()> {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if self.piece.len() < size {
            self.piece.resize(size, 0);
        }
        let text = file.whole(&mut self.piece[..size])?;
        let printer = LinePrinter::new(self.output, path, self.search.layout, &self.matcher);
        self.piece_searcher.search_slice(&self.matcher, text, printer)
    }

    fn search_blocks(
        &mut self,
        file: InterruptibleReader<'_, &File>,
        path: &Path,
    ) -> io::Result<()> {
        let (binary, options) = (&self.binary, &self.search.options);
        let searcher = self
            .block_searcher
            .get_or_insert_with(|| searcher(binary, LINE_LIMIT, options).build());
        let printer = LinePrinter::new(self.output, path, self.search.layout, &self.matcher);
        searcher.search_reader(&self.matcher, file, printer)
    }
}

impl Visitor for FileSearch<'_> {
    fn visit(&mut self, path: &Path, _: FileMetadata) -> Result<bool, Stopped> {
        if !self.search.accepts(path) {
            return Ok(true);
        }
        self.output.count_opened();
        let searched = match (self.search.open)(path) {
            Err(error) => Err(Unread::Failed(error)),
            Ok(file) => match size_of(&file) {
                // It has become a FIFO or a device since it was listed.
                None => Ok(()),
                Some(size) => self.search(&file, size, path)?,
            },
        };
        match searched {
            Ok(()) => {}
            Err(Unread::Failed(error)) if has_moved(&error) => {}
            Err(unread) => self.output.skip(path, unread.to_string()),
        }
        Ok(self.output.end_file())
    }
}

/// The size of a regular file.
fn size_of(file: &File) -> Option<u64> {
    let stat = fstat(file).ok()?;
    let regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    regular.then(|| u64::try_from(stat.st_size).unwrap_or(0))
}

/// As ripgrep configures it without flags, but without memory maps and with bounded memory.
fn searcher(binary: &BinaryDetection, memory: usize, options: &GrepOptions<'_>) -> SearcherBuilder {
    let mut searcher = SearcherBuilder::new();
    searcher
        .line_number(true)
        .multi_line(options.multiline)
        .before_context(options.context)
        .after_context(options.context)
        .memory_map(MmapChoice::never())
        .heap_limit(Some(memory))
        .binary_detection(binary.clone());
    searcher
}

/// Why a file was not searched to its end.
#[derive(Debug, thiserror::Error)]
enum Unread {
    #[error("{0}")]
    Failed(io::Error),
    #[error("holds a line longer than {} MiB, searched up to there", LINE_LIMIT >> 20)]
    LongLine,
    #[error("is longer than {} MiB, which a search over lines does not take", LINE_LIMIT >> 20)]
    LongFile,
}

//! The search of one file after the other, by one thread.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Seek};
use std::path::Path;

use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder};
use rustix::fs::{FileType, fstat};

use crate::crew::Errand;
use crate::desk::Desk;
use crate::grep::{GrepRequest, LINE_LIMIT, OpenFile};
use crate::listing::{displayed, has_moved};
use crate::sink::Printing;
use crate::tree::Visit;
use crate::watch::{ReadEnd, Stopped, Watch, Watched};

/// Files up to this size are searched in one piece. In it the searcher looks for binary data as it
/// does in the first block of a larger file, which is as long.
const PIECE: u64 = 64 << 10;

/// How a matching line is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// As ripgrep prints it, with what there is to say about binary files.
    Text,
    /// As a record, and nothing else.
    Record,
}

pub(crate) struct FileSearch<'a> {
    request: &'a GrepRequest<'a>,
    open: &'a OpenFile<'a>,
    watch: Watch<'a>,
    regex: RegexMatcher,
    binary: BinaryDetection,
    form: Form,
    /// For files in one piece. The other one fills a whole block with zeros before it reads anything.
    pieces: Searcher,
    piece: Vec<u8>,
    blocks: Option<Searcher>,
    desk: &'a Desk<'a>,
}

impl<'a> FileSearch<'a> {
    pub(crate) fn new(
        request: &'a GrepRequest<'a>,
        open: &'a OpenFile<'a>,
        watch: Watch<'a>,
        regex: RegexMatcher,
        binary: BinaryDetection,
        form: Form,
        desk: &'a Desk<'a>,
    ) -> Self {
        let pieces = searcher(&binary, 1).bom_sniffing(false).build();
        let (piece, blocks) = (Vec::new(), None);
        Self { request, open, watch, regex, binary, form, pieces, piece, blocks, desk }
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
        let mut ended = if size > 0 && size <= PIECE && self.binary.quit_byte().is_some() {
            self.search_piece(plain, size, path)
        } else {
            self.search_blocks(plain, path)
        };
        if end.get() == ReadEnd::Utf16 {
            let mut file = file;
            if let Err(error) = file.rewind() {
                return Ok(Err(Unread::Failed(error)));
            }
            ended = self.search_blocks(Watched::unmarked(file, self.watch, &end), path);
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

    fn search_piece(&mut self, file: Watched<'_, &File>, size: u64, path: &Path) -> io::Result<()> {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if self.piece.len() < size {
            self.piece.resize(size, 0);
        }
        let text = file.whole(&mut self.piece[..size])?;
        self.pieces.search_slice(&self.regex, text, Printing::new(self.desk, path, self.form))
    }

    fn search_blocks(&mut self, file: Watched<'_, &File>, path: &Path) -> io::Result<()> {
        let binary = &self.binary;
        let blocks = self.blocks.get_or_insert_with(|| searcher(binary, LINE_LIMIT).build());
        blocks.search_reader(&self.regex, file, Printing::new(self.desk, path, self.form))
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
    pub(crate) form: Form,
}

impl Errand for WalkSearch<'_> {
    fn visit<'d>(&'d self, desk: &'d Desk<'_>) -> Box<dyn Visit + 'd> {
        let Self { request, open, watch, ref regex, form } = *self;
        let binary = BinaryDetection::quit(0);
        Box::new(FileSearch::new(request, open, watch, regex.clone(), binary, form, desk))
    }
}

/// The size of a regular file.
fn size_of(file: &File) -> Option<u64> {
    let stat = fstat(file).ok()?;
    let regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    regular.then(|| u64::try_from(stat.st_size).unwrap_or(0))
}

/// As ripgrep builds it without flags, but never with a memory map and with bounded memory.
fn searcher(binary: &BinaryDetection, memory: usize) -> SearcherBuilder {
    let mut searcher = SearcherBuilder::new();
    searcher
        .line_number(true)
        .memory_map(MmapChoice::never())
        .heap_limit(Some(memory))
        .binary_detection(binary.clone());
    searcher
}

/// Why a file was not searched to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unread {
    #[error("{0}")]
    Failed(io::Error),
    #[error("holds a line longer than {} MiB, searched up to there", LINE_LIMIT >> 20)]
    LongLine,
}

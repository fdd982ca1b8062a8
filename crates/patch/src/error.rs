//! The reasons for refusing a patch.

use std::fmt;

use thiserror::Error;

use crate::encoded::letters_refused;
use crate::excerpt::{excerpt, quoted};
use crate::explain::Stale;
use crate::files_error::FilesError;

/// Why a patch was not applied. The file is untouched in every case.
///
/// The display says what is wrong and where. Line numbers count from one; `patch_line` counts in the patch as it was given, `line` in the file.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PatchError {
    /// Nothing but white space.
    #[error("the patch is empty")]
    Empty,
    /// Text without anything that belongs to a unified diff.
    #[error("the patch is not a unified diff: there is no hunk header such as `@@ -3,2 +3,3 @@` in it, and it begins {}", quoted(.start))]
    NotADiff {
        /// The first line that is not blank.
        start: String,
    },
    /// File headers and no hunk.
    #[error("the patch has file headers (line {patch_line} of the patch) but no hunk after them")]
    NoHunks {
        /// Where the headers begin.
        patch_line: usize,
    },
    /// `@@` without line numbers.
    #[error("line {} of the patch is {}, a hunk header without line numbers", .0.patch_line, quoted(&.0.header))]
    BareHeader(HeaderLine),
    /// A hunk header that cannot be read.
    #[error("line {} of the patch is {}, which cannot be read as a hunk header `@@ -start,count +start,count @@`", .0.patch_line, quoted(&.0.header))]
    BadHeader(HeaderLine),
    /// A hunk header with no line under it.
    #[error("hunk {hunk} ({header}, line {patch_line} of the patch) has no lines")]
    EmptyHunk {
        /// Which hunk.
        hunk: usize,
        /// The line of its header.
        patch_line: usize,
        /// Its header.
        header: String,
    },
    /// A line of a hunk that begins with neither space, `+` nor `-`.
    #[error("hunk {hunk} ({header}) is not complete at line {patch_line} of the patch, {}, which begins with neither a space, `+` nor `-`", quoted(.text))]
    UnsignedLine {
        /// Which hunk.
        hunk: usize,
        /// Its header.
        header: String,
        /// The number of the line.
        patch_line: usize,
        /// The line.
        text: String,
    },
    /// A header whose counts differ from the lines under it.
    #[error(
        "hunk {hunk} ({header}, line {patch_line} of the patch) has {old_lines} old and {new_lines} new lines, which its header does not say"
    )]
    WrongCounts {
        /// Which hunk.
        hunk: usize,
        /// The line of its header.
        patch_line: usize,
        /// Its header.
        header: String,
        /// Context and removed lines of the hunk.
        old_lines: usize,
        /// Context and added lines of the hunk.
        new_lines: usize,
        /// The header that fits the lines.
        right_header: String,
    },
    /// The patch ends in the middle of a line, before its last hunk has the lines its header promises.
    #[error("hunk {hunk} ({header}) is cut off: the patch ends with {}, without a line end and with fewer lines than the header says", quoted(.text))]
    CutOff {
        /// Which hunk.
        hunk: usize,
        /// Its header.
        header: String,
        /// The last line, without its sign.
        text: String,
    },
    /// The patch ends in the middle of a line that begins another hunk or names another file.
    #[error("the patch is cut off: line {} is its last, is {}, and has no end, as if another hunk or file began there", .0.patch_line, quoted(&.0.header))]
    CutOffHeader(HeaderLine),
    /// The file is not text, so no line of it can be meant.
    #[error("the file is binary")]
    BinaryFile,
    /// A hunk without line numbers, or with wrong counts, that fits in two places.
    #[error(
        "hunk {hunk} ({header}) fits at line {first} and at line {second}, and its header does not tell which is meant"
    )]
    SeveralPlaces {
        /// Which hunk.
        hunk: usize,
        /// Its header.
        header: String,
        /// The first line of one place where it fits.
        first: usize,
        /// The first line of the next one.
        second: usize,
    },
    /// `\ No newline at end of file` after a line that cannot be the last.
    #[error(
        "hunk {hunk} has `\\ No newline at end of file` at line {patch_line} of the patch, but more lines of the same file follow"
    )]
    MisplacedMarker {
        /// Which hunk.
        hunk: usize,
        /// The line with the marker.
        patch_line: usize,
    },
    /// Headers or hunks of more than one file.
    #[error("the patch has a second file header at {0}, but one call edits one file")]
    SeveralFiles(HeaderLine),
    /// The patch creates a file.
    #[error("the patch creates a file ({0}), but only an existing file can be edited")]
    Creation(HeaderLine),
    /// The patch deletes a file.
    #[error("the patch deletes the file ({0}), which an edit does not do")]
    Deletion(HeaderLine),
    /// The patch renames or copies a file.
    #[error("the patch renames or copies the file ({0}), which an edit does not do")]
    Rename(HeaderLine),
    /// A binary patch.
    #[error("the patch is a binary one ({0})")]
    Binary(HeaderLine),
    /// The patch changes nothing but the file's mode.
    #[error("the patch changes only the mode of the file ({0}), which an edit does not do")]
    ModeOnly(HeaderLine),
    /// An added line can be a context line that has lost its space: the file has it, with its sign, at the place.
    #[error("hunk {hunk} ({header}) has two readings at line {patch_line} of the patch, {}: the line is added, or it is line {line} of the file and has lost the space in front", quoted(.text))]
    LostSpace {
        /// Which hunk.
        hunk: usize,
        /// Its header.
        header: String,
        /// The line in the patch.
        patch_line: usize,
        /// Its text with its sign.
        text: String,
        /// The same line in the file.
        line: usize,
    },
    /// The file is in another encoding than UTF-8, and an added line has letters that cannot be written in it.
    #[error("hunk {hunk} adds a line with other letters than those of ASCII at line {patch_line} of the patch, {}: {}", quoted(.text), letters_refused(*.encoding))]
    OtherEncoding {
        /// The number of the hunk, from 1.
        hunk: usize,
        /// The added line, in the patch.
        patch_line: usize,
        /// Its text, cut.
        text: String,
        /// The encoding that the file names. It does not have the letters.
        encoding: Option<&'static str>,
    },
    /// An added line holds U+FFFD, which `read` shows in place of bytes that are not UTF-8.
    #[error("hunk {hunk} adds a line with U+FFFD at line {patch_line} of the patch, {}: that character stands for bytes that are not UTF-8, and adding it would replace them", quoted(.text))]
    ReplacementCharacter {
        /// Which hunk.
        hunk: usize,
        /// The number of the line.
        patch_line: usize,
        /// The line.
        text: String,
    },
    /// No hunk adds or removes a line.
    #[error("the patch changes nothing: no line in it begins with `+` or `-`")]
    NoChanges,
    /// The file does not have the lines that a hunk expects.
    #[error("{0}")]
    StaleContext(Box<Stale>),
    /// Two places equally near to where the header points, and none nearer.
    #[error(
        "hunk {hunk} ({header}) does not fit at line {near}, and fits equally near at line {first} and at line {second}"
    )]
    Ambiguous {
        /// Which hunk.
        hunk: usize,
        /// Its header.
        header: String,
        /// The line where the search began.
        near: usize,
        /// The place before it.
        first: usize,
        /// The place after it.
        second: usize,
    },
    /// A hunk that fits only where an earlier hunk has been already.
    #[error("hunk {hunk} ({header}) fits at line {line}, but hunk {previous} already changed the file up to line {end}", previous = .hunk - 1)]
    OutOfOrder {
        /// Which hunk.
        hunk: usize,
        /// Its header.
        header: String,
        /// The line where it fits.
        line: usize,
        /// The last line that the hunks before it reach.
        end: usize,
    },
    /// A hunk without context whose header points outside of the file.
    #[error(
        "hunk {hunk} ({header}) has only added lines and inserts them after line {after}, but the file has {lines} lines"
    )]
    InsertionOutside {
        /// Which hunk.
        hunk: usize,
        /// Its header.
        header: String,
        /// The line after which to insert, from one.
        after: usize,
        /// The number of lines in the file.
        lines: usize,
    },
    /// The patch removes a final newline that does not exist.
    #[error(
        "hunk {hunk} takes away the newline at the end of the file (line {patch_line} of the patch), but the file has none"
    )]
    NewlineMissing {
        /// Which hunk.
        hunk: usize,
        /// The added line with the marker.
        patch_line: usize,
    },
    /// The patch claims that the old file has no final newline, but it has one.
    #[error(
        "hunk {hunk} says that the file has no newline at its end (line {patch_line} of the patch), but it has one"
    )]
    NewlinePresent {
        /// Which hunk.
        hunk: usize,
        /// The removed line with the marker.
        patch_line: usize,
    },
    /// `\ No newline at end of file` in a hunk that does not reach the end of the file.
    #[error(
        "hunk {hunk} says that its last line is the end of the file (line {patch_line} of the patch), but it fits at line {line}, and the file has {lines} lines"
    )]
    NotAtEnd {
        /// Which hunk.
        hunk: usize,
        /// The line with the marker.
        patch_line: usize,
        /// The line where the hunk would fit.
        line: usize,
        /// The number of lines in the file.
        lines: usize,
    },
    /// An error in what a patch for several files says about them.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// The line after `@@` is not in the file.
    #[error("hunk {hunk} (line {patch_line} of the patch): no line of the file{} is {}{}", below_line(*.below), quoted(.anchor), most_similar(.similar.as_ref()))]
    AnchorMissing {
        /// Which hunk.
        hunk: usize,
        /// The line of its header.
        patch_line: usize,
        /// The line that was looked for.
        anchor: String,
        /// The line of the anchor above it.
        below: Option<usize>,
        /// The number and the text of the most similar line.
        similar: Option<(usize, String)>,
    },
    /// A hunk that fits only above the line after `@@`.
    #[error(
        "hunk {hunk} ({header}) fits at line {line}, but the line after `@@` is further down, at line {anchor}"
    )]
    AboveAnchor {
        /// Which hunk.
        hunk: usize,
        /// Its header.
        header: String,
        /// The line where it fits.
        line: usize,
        /// The line that its header names.
        anchor: usize,
    },
    /// A hunk of the format of `apply_patch` that fits in two places.
    #[error(
        "hunk {hunk} ({header}) fits at line {first} and at line {second}, and nothing tells which is meant"
    )]
    SeveralFits {
        /// Which hunk.
        hunk: usize,
        /// Its header.
        header: String,
        /// The first line of one place where it fits.
        first: usize,
        /// The first line of the other.
        second: usize,
    },
    /// Added lines without anything that tells where they go.
    #[error(
        "hunk {hunk} ({header}, line {patch_line} of the patch) has no context and no removed lines, so nothing tells where its lines go"
    )]
    UnplacedInsertion {
        /// Which hunk.
        hunk: usize,
        /// Its header.
        header: String,
        /// The line of its header.
        patch_line: usize,
    },
    /// An error in the part of a patch that is for one file.
    #[error("`{path}`: {error}")]
    InFile {
        /// The file, as the patch names it.
        path: String,
        /// The error.
        error: Box<PatchError>,
    },
    /// The patch and the file are so repetitive that the search was given up.
    #[error(
        "the place of hunk {hunk} ({header}) was not found within the limit of comparisons: the file repeats the same lines too often"
    )]
    TooRepetitive {
        /// Which hunk.
        hunk: usize,
        /// Its header.
        header: String,
    },
}

impl PatchError {
    /// The same error, with the name of the file.
    pub(crate) fn in_file(self, path: &str) -> Self {
        Self::InFile { path: excerpt(path), error: Box::new(self) }
    }
}

fn below_line(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!(" below line {line}"))
}

fn most_similar(similar: Option<&(usize, String)>) -> String {
    similar.map_or_else(String::new, |(line, text)| {
        format!("; the most similar is line {line}, {}", quoted(text))
    })
}

/// A line of the patch outside of its hunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderLine {
    /// Its number, from 1.
    pub patch_line: usize,
    /// The line as written, cut.
    pub header: String,
}

impl HeaderLine {
    /// The line with index `at`.
    pub(crate) fn new(at: usize, line: &str) -> Self {
        Self { patch_line: at + 1, header: excerpt(line) }
    }
}

impl fmt::Display for HeaderLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the patch, {}", self.patch_line, quoted(&self.header))
    }
}

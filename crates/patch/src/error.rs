//! Why a patch was refused, in words that a language model can act on.

use thiserror::Error;

use crate::excerpt::quoted;
use crate::explain::Stale;

/// One value of [`PatchError::details`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Detail {
    /// A count or a line number, lines counted from one.
    Number(u64),
    /// A word or a piece of a line, cut to a few hundred bytes.
    Text(String),
}

/// Why a patch was not applied. The file is untouched in every case.
///
/// The display says what is wrong and where, [`hint`](Self::hint) what to do next. Line numbers
/// count from one; `patch_line` counts in the patch as it was given, `line` in the file.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
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
    #[error("line {patch_line} of the patch is {}, a hunk header without line numbers", quoted(.header))]
    BareHeader {
        /// Where the header stands.
        patch_line: usize,
        /// The line as written.
        header: String,
    },
    /// A hunk header that cannot be read.
    #[error("line {patch_line} of the patch is {}, which cannot be read as a hunk header `@@ -start,count +start,count @@`", quoted(.header))]
    BadHeader {
        /// Where the header stands.
        patch_line: usize,
        /// The line as written.
        header: String,
    },
    /// A hunk header with no line under it.
    #[error("hunk {hunk} ({header}, line {patch_line} of the patch) has no lines")]
    EmptyHunk {
        /// Which hunk.
        hunk: usize,
        /// Where its header stands.
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
        /// Where the line stands.
        patch_line: usize,
        /// The line.
        text: String,
    },
    /// A header whose counts are not those of the lines under it.
    #[error(
        "hunk {hunk} ({header}, line {patch_line} of the patch) has {old_lines} old and {new_lines} new lines, which its header does not say"
    )]
    WrongCounts {
        /// Which hunk.
        hunk: usize,
        /// Where its header stands.
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
    /// `\ No newline at end of file` after a line that cannot be the last.
    #[error(
        "hunk {hunk} has `\\ No newline at end of file` at line {patch_line} of the patch, but more lines of the same file follow"
    )]
    MisplacedMarker {
        /// Which hunk.
        hunk: usize,
        /// Where the marked line stands.
        patch_line: usize,
    },
    /// Headers or hunks of more than one file.
    #[error("the patch has a second file header at line {patch_line} of the patch, {}, but one call edits one file", quoted(.header))]
    SeveralFiles {
        /// Where the second file begins.
        patch_line: usize,
        /// Its first line.
        header: String,
    },
    /// The patch makes a file.
    #[error("the patch creates a file (line {patch_line} of the patch, {}), but only an existing file can be edited", quoted(.header))]
    Creation {
        /// Where it says so.
        patch_line: usize,
        /// The line that says so.
        header: String,
    },
    /// The patch removes a file.
    #[error("the patch deletes the file (line {patch_line} of the patch, {}), which an edit does not do", quoted(.header))]
    Deletion {
        /// Where it says so.
        patch_line: usize,
        /// The line that says so.
        header: String,
    },
    /// The patch renames or copies a file.
    #[error("the patch renames or copies the file (line {patch_line} of the patch, {}), which an edit does not do", quoted(.header))]
    Rename {
        /// Where it says so.
        patch_line: usize,
        /// The line that says so.
        header: String,
    },
    /// A binary patch.
    #[error("the patch is a binary one (line {patch_line} of the patch, {})", quoted(.header))]
    Binary {
        /// Where it says so.
        patch_line: usize,
        /// The line that says so.
        header: String,
    },
    /// The patch changes nothing but the file's mode.
    #[error("the patch changes only the mode of the file (line {patch_line} of the patch, {}), which an edit does not do", quoted(.header))]
    ModeOnly {
        /// Where it says so.
        patch_line: usize,
        /// The line that says so.
        header: String,
    },
    /// An added line holds U+FFFD, which `read` shows in place of bytes that are not UTF-8.
    #[error("hunk {hunk} adds a line with U+FFFD at line {patch_line} of the patch, {}: that character stands for bytes that are not UTF-8, and adding it would replace them", quoted(.text))]
    ReplacementCharacter {
        /// Which hunk.
        hunk: usize,
        /// Where the line stands.
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
        /// Where it was looked for first.
        near: u64,
        /// The place before.
        first: usize,
        /// The place after.
        second: usize,
    },
    /// A hunk that fits only where an earlier hunk has been already.
    #[error("hunk {hunk} ({header}) fits at line {line}, but hunk {previous} already changed the file up to line {end}", previous = .hunk - 1)]
    OutOfOrder {
        /// Which hunk.
        hunk: usize,
        /// Its header.
        header: String,
        /// Where it fits.
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
        after: u64,
        /// How many lines the file has.
        lines: usize,
    },
    /// The patch takes away a final newline that is not there.
    #[error(
        "hunk {hunk} takes away the newline at the end of the file (line {patch_line} of the patch), but the file has none"
    )]
    NewlineMissing {
        /// Which hunk.
        hunk: usize,
        /// The added line with the marker.
        patch_line: usize,
    },
    /// The patch says that the old file has no final newline, but it has.
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
        /// Where the hunk would fit.
        line: usize,
        /// How many lines the file has.
        lines: usize,
    },
    /// The patch and the file repeat themselves so much that the search was given up.
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
    /// The next move, as one or two sentences.
    #[must_use]
    pub fn hint(&self) -> String {
        let fixed = match self {
            Self::Empty | Self::NotADiff { .. } | Self::NoHunks { .. } => {
                "Send a unified diff: a header such as `@@ -3,2 +3,3 @@`, then context lines that begin with a space, removed lines with `-` and added lines with `+`."
            }
            Self::BareHeader { .. } | Self::BadHeader { .. } => {
                "Write the header as `@@ -3,2 +3,3 @@`: first line and number of lines before, then after the change. Read the file for the line numbers."
            }
            Self::EmptyHunk { .. } => {
                "Leave the header out, or write the hunk's lines under it: context with a space in front, `-` and `+` lines."
            }
            Self::UnsignedLine { .. } => {
                "Begin every context line with one space, before its own indentation, and make the counts in the header those of the lines."
            }
            Self::WrongCounts { right_header, .. } => {
                return format!("For these lines the header should be `{right_header}`.");
            }
            Self::MisplacedMarker { .. } | Self::NotAtEnd { .. } => {
                "Leave out the line `\\ No newline at end of file`: it is for the last line of the file only."
            }
            Self::SeveralFiles { .. } => {
                "Make one call for each file; for one file, put all hunks under one `---`/`+++` header, in the order of the file."
            }
            Self::Creation { .. } => "Use the write tool to create a file.",
            Self::Deletion { .. } => "Use the bash tool with `rm` to delete a file.",
            Self::Rename { .. } => {
                "Use the bash tool with `mv` or `cp`, then edit the file at its new path with a patch that has no rename or copy lines."
            }
            Self::Binary { .. } => "Only text can be edited; use the bash tool for a binary file.",
            Self::ModeOnly { .. } => "Use the bash tool with `chmod` to change a file's mode.",
            Self::ReplacementCharacter { .. } => {
                "Add lines without U+FFFD; to keep a line that has it, leave the line as context or out of the patch."
            }
            Self::NoChanges => {
                "Mark the lines to change with `-` and `+`; if nothing is to change, no edit is needed."
            }
            Self::StaleContext(stale) => return stale.hint(),
            Self::Ambiguous { .. } => {
                "Give the line number of the place that is meant in the header, or add context lines that only it has."
            }
            Self::OutOfOrder { .. } => {
                "Put the hunks in the order of the file, and join hunks that touch the same lines. All hunks refer to the file before the edit."
            }
            Self::InsertionOutside { lines, .. } => {
                return format!(
                    "To append to the file use `@@ -{lines},0 +{},n @@`, with n the number of added lines, or give context lines.",
                    lines.saturating_add(1)
                );
            }
            Self::NewlineMissing { .. } => {
                "Put `\\ No newline at end of file` after the removed last line too, or leave it out: without it the end of the file stays as it is."
            }
            Self::NewlinePresent { .. } => {
                "Leave out `\\ No newline at end of file`: without it the end of the file stays as it is."
            }
            Self::TooRepetitive { .. } => {
                "Read the file again and give exact line numbers in the headers, or use the write tool for the whole file."
            }
        };
        fixed.to_owned()
    }

    /// What a program can use: `reason`, a stable word for the kind of error, and then, where they
    /// are known, `hunk`, `line` (in the file), `patchLine`, `expected`, `found` and the like.
    #[must_use]
    pub fn details(&self) -> Vec<(&'static str, Detail)> {
        let mut out = Facts(vec![("reason", Detail::Text(self.reason().to_owned()))]);
        match self {
            Self::Empty | Self::NoChanges => {}
            Self::NotADiff { start } => out.text("found", start),
            Self::NoHunks { patch_line } => out.number("patchLine", *patch_line),
            Self::BareHeader { patch_line, header }
            | Self::BadHeader { patch_line, header }
            | Self::SeveralFiles { patch_line, header }
            | Self::Creation { patch_line, header }
            | Self::Deletion { patch_line, header }
            | Self::Rename { patch_line, header }
            | Self::Binary { patch_line, header }
            | Self::ModeOnly { patch_line, header } => {
                out.number("patchLine", *patch_line);
                out.text("header", header);
            }
            Self::EmptyHunk { hunk, patch_line, header } => {
                out.hunk(*hunk, header);
                out.number("patchLine", *patch_line);
            }
            Self::UnsignedLine { hunk, header, patch_line, text } => {
                out.hunk(*hunk, header);
                out.number("patchLine", *patch_line);
                out.text("found", text);
            }
            Self::WrongCounts { hunk, patch_line, header, right_header, .. } => {
                out.hunk(*hunk, header);
                out.number("patchLine", *patch_line);
                out.text("rightHeader", right_header);
            }
            Self::ReplacementCharacter { hunk, patch_line, text } => {
                out.number("hunk", *hunk);
                out.number("patchLine", *patch_line);
                out.text("found", text);
            }
            Self::StaleContext(stale) => {
                out.hunk(stale.hunk, &stale.header);
                out.number("line", stale.line);
                out.number("patchLine", stale.patch_line);
                out.text("expected", &stale.expected);
                if let Some(found) = &stale.found {
                    out.text("found", found);
                }
            }
            Self::Ambiguous { hunk, header, first, second, .. } => {
                out.hunk(*hunk, header);
                out.number("line", *first);
                out.number("otherLine", *second);
            }
            Self::OutOfOrder { hunk, header, line, .. } => {
                out.hunk(*hunk, header);
                out.number("line", *line);
            }
            Self::InsertionOutside { hunk, header, after, .. } => {
                out.hunk(*hunk, header);
                out.0.push(("line", Detail::Number(*after)));
            }
            Self::MisplacedMarker { hunk, patch_line }
            | Self::NewlineMissing { hunk, patch_line }
            | Self::NewlinePresent { hunk, patch_line } => {
                out.number("hunk", *hunk);
                out.number("patchLine", *patch_line);
            }
            Self::NotAtEnd { hunk, patch_line, line, .. } => {
                out.number("hunk", *hunk);
                out.number("line", *line);
                out.number("patchLine", *patch_line);
            }
            Self::TooRepetitive { hunk, header } => out.hunk(*hunk, header),
        }
        out.0
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::NotADiff { .. } => "not_a_diff",
            Self::NoHunks { .. } => "no_hunks",
            Self::BareHeader { .. } => "bare_header",
            Self::BadHeader { .. } => "bad_header",
            Self::EmptyHunk { .. } => "empty_hunk",
            Self::UnsignedLine { .. } => "unsigned_line",
            Self::WrongCounts { .. } => "wrong_counts",
            Self::MisplacedMarker { .. } => "misplaced_marker",
            Self::SeveralFiles { .. } => "several_files",
            Self::Creation { .. } => "creation",
            Self::Deletion { .. } => "deletion",
            Self::Rename { .. } => "rename",
            Self::Binary { .. } => "binary",
            Self::ModeOnly { .. } => "mode_only",
            Self::ReplacementCharacter { .. } => "replacement_character",
            Self::NoChanges => "no_changes",
            Self::StaleContext(_) => "stale_context",
            Self::Ambiguous { .. } => "ambiguous",
            Self::OutOfOrder { .. } => "out_of_order",
            Self::InsertionOutside { .. } => "insertion_outside",
            Self::NewlineMissing { .. } => "newline_missing",
            Self::NewlinePresent { .. } => "newline_present",
            Self::NotAtEnd { .. } => "not_at_end",
            Self::TooRepetitive { .. } => "too_repetitive",
        }
    }
}

/// The list that [`PatchError::details`] gives, while it grows.
struct Facts(Vec<(&'static str, Detail)>);

impl Facts {
    fn hunk(&mut self, number: usize, header: &str) {
        self.number("hunk", number);
        self.text("header", header);
    }

    fn number(&mut self, name: &'static str, value: usize) {
        self.0.push((name, Detail::Number(u64::try_from(value).unwrap_or(u64::MAX))));
    }

    fn text(&mut self, name: &'static str, value: &str) {
        self.0.push((name, Detail::Text(value.to_owned())));
    }
}

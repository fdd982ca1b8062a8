//! Next moves after searches that failed.

pub mod empty;

use toolwright_search::{CutAdvice, GrepError};

/// After an overview that took too long.
pub const OVERVIEW_TIMED_OUT: &str =
    "Pass the path of a subdirectory; glob lists the directories that there are.";

/// After a text that was cut.
pub const AFTER_CUT: CutAdvice<'_> = CutAdvice {
    long_line: "search other paths",
    more_lines: "use a more specific pattern or a narrower path",
};

/// The last line of a list that was cut.
pub const LIST_CUT: &str =
    "[list cut: more files match; use a more specific pattern or a narrower path]\n";

/// After a pattern over several lines, where it can be searched for.
pub const MULTILINE: &str = "To match over the ends of lines, set `multiline` to true.";

/// The next move.
#[must_use]
pub fn hint(error: &GrepError) -> &'static str {
    match error {
        GrepError::Pattern { message, .. } if message.contains("not allowed in a regex") => {
            "The search works line by line and takes no flags: search for one line of the text."
        }
        GrepError::Pattern { message, .. }
            if message.contains("is not supported") || message.contains("are not supported") =>
        {
            "Write the pattern without look-around and backreferences; no flags can be passed."
        }
        GrepError::Pattern { message, .. } if message.contains("size limit") => {
            "Use smaller repetition counts in the pattern."
        }
        GrepError::Pattern { message, .. } if message.contains("repetition operator missing") => {
            "This is a regular expression and no glob: `.*` stands for any text; to search for literal text, put a backslash before each of . * + ? ( ) [ ] { } | ^ $ \\."
        }
        GrepError::Pattern { .. } => {
            "Correct the pattern; to search for literal text, put a backslash before each of . * + ? ( ) [ ] { } | ^ $ \\."
        }
        GrepError::Glob { .. } => {
            "Correct the pattern; put a backslash before a [ or { that stands for itself."
        }
        GrepError::Missing { path } if path.to_string_lossy().contains(['*', '?', '{']) => {
            "The path takes no wildcards: give a directory or a file, or leave it out to search everything."
        }
        GrepError::Missing { .. } => {
            "Check the path, which is relative to the root, or leave it out to search everything."
        }
        GrepError::Unreadable { .. } => "Search another path, or make this one readable first.",
        GrepError::NotSearchable { .. } => "Pass a regular file or a directory.",
        GrepError::TimedOut { .. } => {
            "Pass a narrower path or a more specific pattern; the lines found so far are in the output."
        }
        GrepError::Cancelled { .. } => {
            "The caller stopped this search; repeat it only if asked to."
        }
    }
}

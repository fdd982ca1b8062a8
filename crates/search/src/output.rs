//! The output of a search: whole lines up to a limit, notes on what was not searched, and a marker
//! if the output was cut.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use toolwright_names::printable;

use crate::query::CutAdvice;

/// Below this limit a marker would displace the very lines that it is about.
const MARKER_MIN_LIMIT: usize = 1024;
/// The longest marker.
const MARKER_MAX: usize = 512;
/// A path in a marker or a note is cut to about this many bytes.
const MAX_PATH_BYTES: usize = 160;
/// At most this many unreadable entries are named. All are counted.
const MAX_NAMED: usize = 10;

/// Collects whole lines until one does not fit.
pub(crate) struct Output {
    bytes: Vec<u8>,
    limit: usize,
    matches: u64,
    /// The most matches that are accepted.
    match_limit: u64,
    /// Set by the first line that did not fit. Nothing is accepted after it.
    pub(crate) full: bool,
    /// The file in which the output became full, relative to the root.
    pub(crate) stopped_in: PathBuf,
    /// Where the text can be cut to make room for the marker: the ends of the last lines before the
    /// limit, each with the number of matches up to it.
    ends: Vec<(usize, u64)>,
}

impl Output {
    pub(crate) fn new(limit: usize, match_limit: u64) -> Self {
        Self {
            bytes: Vec::new(),
            limit,
            matches: 0,
            match_limit,
            full: false,
            stopped_in: PathBuf::new(),
            ends: vec![(0, 0)],
        }
    }

    /// How many more bytes and matches fit.
    pub(crate) fn remaining(&self) -> (usize, u64) {
        (self.limit - self.bytes.len(), self.match_limit - self.matches)
    }

    /// Appends a line. Returns false if it did not fit; then no later line will.
    pub(crate) fn push_line(&mut self, line: &[u8], matched: bool) -> bool {
        let (bytes, more) = self.remaining();
        if self.full || line.len() > bytes || matched && more == 0 {
            self.full = true;
            return false;
        }
        self.bytes.extend_from_slice(line);
        self.matches += u64::from(matched);
        if self.bytes.len().saturating_add(MARKER_MAX) <= self.limit {
            self.ends.clear();
        }
        self.ends.push((self.bytes.len(), self.matches));
        true
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty() && !self.full
    }

    /// The lines, and the number of matches in them.
    pub(crate) fn into_lines(self) -> (Vec<u8>, u64) {
        (self.bytes, self.matches)
    }

    /// The final text. `stopped_in` is the displayed path of the file in which the output became
    /// full.
    pub(crate) fn into_text(
        mut self,
        stopped_in: &Path,
        unsearched: &Unsearched,
        advice: CutAdvice<'_>,
    ) -> (Vec<u8>, bool, u64) {
        if self.full && self.limit >= MARKER_MIN_LIMIT {
            let marker = self.marker(stopped_in, advice);
            let room = self.limit - marker.len();
            let (end, matches) =
                self.ends.iter().rev().find(|(end, _)| *end <= room).copied().unwrap_or((0, 0));
            self.bytes.truncate(end);
            self.matches = matches;
            // Notes come before the marker, which is the last line.
            unsearched.write(&mut self.bytes, room);
            self.bytes.extend_from_slice(marker.as_bytes());
        } else {
            unsearched.write(&mut self.bytes, self.limit);
        }
        (self.bytes, self.full, self.matches)
    }

    fn marker(&self, stopped_in: &Path, advice: CutAdvice<'_>) -> String {
        let (path, limit) = (bounded(stopped_in), self.limit);
        let (what, advice) = if self.bytes.is_empty() {
            let what =
                format!(": the first matching line, in {path}, does not fit into {limit} bytes");
            (what, advice.long_line)
        } else {
            let what = format!(
                " at {limit} bytes: the search stopped in {path}, later matches are not shown"
            );
            (what, advice.more_lines)
        };
        let separator = if advice.is_empty() { "" } else { "; " };
        format!("[output cut{what}{separator}{advice}]\n")
    }
}

/// Files and directories that could not be searched, or not to their end. An empty result says
/// nothing about them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unsearched {
    /// The first ones, by their paths relative to the root, with the reason.
    pub named: Vec<(PathBuf, String)>,
    /// How many there are.
    pub total: u64,
}

impl Unsearched {
    pub(crate) fn add(&mut self, path: PathBuf, reason: String) {
        self.total += 1;
        if self.named.len() < MAX_NAMED {
            self.named.push((path, reason));
        }
    }

    pub(crate) fn rename(&mut self, display: impl Fn(&Path) -> PathBuf) {
        for (path, _) in &mut self.named {
            *path = display(path);
        }
    }

    /// Appends a line per entry as long as the text stays within `limit`, and a line that counts the
    /// rest. Without room for any entry it appends the count alone, and without room for that,
    /// nothing.
    fn write(&self, text: &mut Vec<u8>, limit: usize) {
        let mut notes = String::new();
        for count in (0..=self.named.len()).rev() {
            notes.clear();
            for (path, reason) in &self.named[..count] {
                let _ = writeln!(notes, "[not searched: {}: {reason}]", bounded(path));
            }
            let rest = self.total - count as u64;
            if rest > 0 {
                let more = if count > 0 { "and " } else { "" };
                let kind = if count > 0 { "more" } else { "files or directories" };
                let _ = writeln!(notes, "[not searched: {more}{rest} {kind}]");
            }
            if text.len() + notes.len() <= limit {
                text.extend_from_slice(notes.as_bytes());
                return;
            }
        }
    }
}

/// A path for a note: bounded, and without what could forge lines.
fn bounded(path: &Path) -> String {
    let bytes = path.as_os_str().as_bytes();
    let mut end = bytes.len();
    loop {
        let text = printable(&bytes[..end]);
        if text.len() <= MAX_PATH_BYTES {
            return if end < bytes.len() { format!("{text}…") } else { text.into_owned() };
        }
        end = end.min(MAX_PATH_BYTES + 1) - 1;
        // No character is cut in two.
        while end > 0 && bytes[end] & 0xc0 == 0x80 {
            end -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(limit: usize, lines: &[&str]) -> Output {
        let mut output = Output::new(limit, u64::MAX);
        let _ = lines.iter().all(|line| output.push_line(line.as_bytes(), true));
        output
    }

    #[test]
    fn every_limit_ends_on_a_line() {
        let lines: Vec<String> =
            (0..40).map(|n| format!("f:{n}:{}\n", "x".repeat(n * 3))).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let all = lines.concat();
        for limit in 0..all.len() + 700 {
            let (text, truncated, matches) = filled(limit, &lines).into_text(
                Path::new("f"),
                &Unsearched::default(),
                CutAdvice::default(),
            );
            assert!(text.len() <= limit, "limit {limit}");
            assert_eq!(truncated, limit < all.len(), "limit {limit}");
            let text = String::from_utf8(text).expect("utf-8");
            let listed = if truncated && limit >= MARKER_MIN_LIMIT {
                let at = text.find("[output cut at").expect("marker");
                assert_eq!(text[at..].matches('\n').count(), 1);
                &text[..at]
            } else {
                &text[..]
            };
            assert!(listed.is_empty() || listed.ends_with('\n'), "limit {limit}");
            assert!(all.starts_with(listed), "limit {limit}");
            assert_eq!(listed.lines().count() as u64, matches, "limit {limit}");
        }
    }

    #[test]
    fn the_marker_names_a_line_that_never_fits() {
        let line = format!("f:1:{}\n", "x".repeat(5000));
        let (text, truncated, matches) = filled(1024, &[&line]).into_text(
            Path::new("f"),
            &Unsearched::default(),
            CutAdvice::default(),
        );
        let text = String::from_utf8(text).expect("utf-8");
        assert!(text.starts_with("[output cut: the first matching line, in f,"), "{text}");
        assert!(truncated);
        assert_eq!(matches, 0);
    }

    #[test]
    fn notes_shrink_and_never_take_the_room_of_matches() {
        let mut unsearched = Unsearched::default();
        for n in 0..14 {
            unsearched
                .add(PathBuf::from(format!("d\n{n}/{}", "é".repeat(300))), "denied".to_owned());
        }
        for limit in 0..4000 {
            let (text, truncated, _) = filled(limit, &["f:1:x\n"]).into_text(
                Path::new("f"),
                &unsearched,
                CutAdvice::default(),
            );
            assert!(text.len() <= limit);
            assert_eq!(truncated, limit < 6);
            let text = String::from_utf8(text).expect("utf-8");
            assert!(truncated || text.starts_with("f:1:x\n"));
            if limit == 100 {
                assert_eq!(text, "f:1:x\n[not searched: 14 files or directories]\n");
            }
            if limit > 3000 {
                assert!(text.contains("[not searched: \"d\\n0/é"), "{text}");
                assert!(text.ends_with("[not searched: and 4 more]\n"), "{text}");
            }
        }
    }

    #[test]
    fn the_longest_marker_is_within_its_bound() {
        let output = Output::new(usize::MAX, u64::MAX);
        let path = PathBuf::from("\u{1}é".repeat(400));
        let words = "w".repeat(100);
        let advice = CutAdvice { long_line: &words, more_lines: &words };
        assert!(output.marker(&path, advice).len() <= MARKER_MAX);
    }
}

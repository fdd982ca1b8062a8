//! The text that is handed back: whole lines up to a limit, and what is said after them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::structured::Unsearched;

/// Below this limit a closing line would take the room of the lines it speaks of.
const MARKER_FROM: usize = 1024;
/// No marker is longer than this.
const MARKER_MAX: usize = 512;
/// A path in a marker or a note is cut to about this many bytes.
const PATH_SHOWN: usize = 160;
/// So many unreadable entries are named; the others are counted.
const NAMED: usize = 10;

/// Collects whole lines until one does not fit.
pub(crate) struct Output {
    bytes: Vec<u8>,
    limit: usize,
    matches: u64,
    /// No more matches than these are taken.
    match_limit: u64,
    /// Set by the first line that did not fit; from then on nothing is taken.
    full: bool,
    /// The file in which the output became full.
    stopped_in: PathBuf,
    /// Ends of lines in the last stretch before the limit, and the last one before it: where the
    /// text may be cut to make room for the marker. With the matches up to there.
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

    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// The room for bytes and for matches. What is held elsewhere beyond this will not be taken.
    pub(crate) fn room(&self) -> (usize, u64) {
        (self.limit - self.bytes.len(), self.match_limit - self.matches)
    }

    /// Takes a line. False: it did not fit, and nothing will from now on.
    pub(crate) fn line(&mut self, line: &[u8], matched: bool) -> bool {
        let (bytes, more) = self.room();
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

    /// Takes nothing from now on: a line was not even worth holding.
    pub(crate) fn close(&mut self) {
        self.full = true;
    }

    /// Names the file in which the output became full, relative to the root.
    pub(crate) fn stop_in(&mut self, path: &Path) {
        path.clone_into(&mut self.stopped_in);
    }

    pub(crate) fn stopped_in(&self) -> &Path {
        &self.stopped_in
    }

    /// Hands over the lines with the number of matches in them.
    pub(crate) fn into_lines(self) -> (Vec<u8>, u64) {
        (self.bytes, self.matches)
    }

    /// The final text. `stopped_in` is how the file is called in which the output became full.
    pub(crate) fn into_text(
        mut self,
        stopped_in: &Path,
        skipped: &Skipped,
    ) -> (Vec<u8>, bool, u64) {
        if self.full && self.limit >= MARKER_FROM {
            let marker = self.marker(stopped_in);
            let room = self.limit - marker.len();
            let (end, matches) =
                self.ends.iter().rev().find(|(end, _)| *end <= room).copied().unwrap_or((0, 0));
            self.bytes.truncate(end);
            self.matches = matches;
            // Notes come before the marker, which is the last line.
            skipped.write(&mut self.bytes, room);
            self.bytes.extend_from_slice(marker.as_bytes());
        } else {
            skipped.write(&mut self.bytes, self.limit);
        }
        (self.bytes, self.full, self.matches)
    }

    fn marker(&self, stopped_in: &Path) -> String {
        let (path, limit) = (shown(stopped_in), self.limit);
        if self.bytes.is_empty() {
            format!(
                "[output cut: the first matching line, in {path}, does not fit into {limit} bytes; search other paths]\n"
            )
        } else {
            format!(
                "[output cut at {limit} bytes: the search stopped in {path}, later matches are not shown; use a more specific pattern or a narrower path]\n"
            )
        }
    }
}

/// Files and directories that could not be searched.
#[derive(Default)]
pub(crate) struct Skipped {
    named: Vec<(PathBuf, String)>,
    total: u64,
}

impl Skipped {
    pub(crate) fn add(&mut self, path: PathBuf, reason: String) {
        self.total += 1;
        if self.named.len() < NAMED {
            self.named.push((path, reason));
        }
    }

    /// Gives the paths the names under which they are shown.
    pub(crate) fn call(&mut self, name: impl Fn(&Path) -> PathBuf) {
        for (path, _) in &mut self.named {
            *path = name(path);
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn into_unsearched(self) -> Unsearched {
        Unsearched { named: self.named, total: self.total }
    }

    /// Appends a line per entry as long as the text stays within `limit`, and says how many more
    /// there are. With room for nothing else, only their number; with no room for that, nothing.
    fn write(&self, text: &mut Vec<u8>, limit: usize) {
        let mut notes = String::new();
        for count in (0..=self.named.len()).rev() {
            notes.clear();
            for (path, reason) in &self.named[..count] {
                let _ = writeln!(notes, "[not searched: {}: {reason}]", shown(path));
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

/// A path in a line of ours: without control characters, which could forge lines, and bounded.
fn shown(path: &Path) -> String {
    let mut text = String::new();
    for character in path.to_string_lossy().chars() {
        if text.len() >= PATH_SHOWN {
            text.push('…');
            break;
        }
        if character.is_control() {
            text.extend(character.escape_default());
        } else {
            text.push(character);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(limit: usize, lines: &[&str]) -> Output {
        let mut output = Output::new(limit, u64::MAX);
        let _ = lines.iter().all(|line| output.line(line.as_bytes(), true));
        output
    }

    #[test]
    fn every_limit_ends_on_a_line() {
        let lines: Vec<String> =
            (0..40).map(|n| format!("f:{n}:{}\n", "x".repeat(n * 3))).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let all = lines.concat();
        for limit in 0..all.len() + 700 {
            let (text, truncated, matches) =
                filled(limit, &lines).into_text(Path::new("f"), &Skipped::default());
            assert!(text.len() <= limit, "limit {limit}");
            assert_eq!(truncated, limit < all.len(), "limit {limit}");
            let text = String::from_utf8(text).expect("utf-8");
            let kept = if truncated && limit >= MARKER_FROM {
                let at = text.find("[output cut at").expect("marker");
                assert_eq!(text[at..].matches('\n').count(), 1);
                &text[..at]
            } else {
                &text[..]
            };
            assert!(kept.is_empty() || kept.ends_with('\n'), "limit {limit}");
            assert!(all.starts_with(kept), "limit {limit}");
            assert_eq!(kept.lines().count() as u64, matches, "limit {limit}");
        }
    }

    #[test]
    fn a_line_that_never_fits_is_said_to() {
        let line = format!("f:1:{}\n", "x".repeat(5000));
        let (text, truncated, matches) =
            filled(1024, &[&line]).into_text(Path::new("f"), &Skipped::default());
        let text = String::from_utf8(text).expect("utf-8");
        assert!(text.starts_with("[output cut: the first matching line, in f,"), "{text}");
        assert!(truncated);
        assert_eq!(matches, 0);
    }

    #[test]
    fn notes_shrink_and_never_take_the_room_of_matches() {
        let mut skipped = Skipped::default();
        for n in 0..14 {
            skipped.add(PathBuf::from(format!("d\n{n}/{}", "é".repeat(300))), "denied".to_owned());
        }
        for limit in 0..4000 {
            let (text, truncated, _) =
                filled(limit, &["f:1:x\n"]).into_text(Path::new("f"), &skipped);
            assert!(text.len() <= limit);
            assert_eq!(truncated, limit < 6);
            let text = String::from_utf8(text).expect("utf-8");
            assert!(truncated || text.starts_with("f:1:x\n"));
            if limit == 100 {
                assert_eq!(text, "f:1:x\n[not searched: 14 files or directories]\n");
            }
            if limit > 3000 {
                assert!(text.contains("[not searched: d\\n0/é"), "{text}");
                assert!(text.ends_with("[not searched: and 4 more]\n"), "{text}");
            }
        }
    }

    #[test]
    fn the_longest_marker_is_within_its_bound() {
        let output = Output::new(usize::MAX, u64::MAX);
        let path = PathBuf::from("\u{1}é".repeat(400));
        assert!(output.marker(&path).len() <= MARKER_MAX);
    }
}

//! A tree of directories and files as text: a line for each, indented below its directory.

use std::fmt::Write as _;

use toolwright_names::printable;
use toolwright_search::DirectoryTally;

/// A directory of the text.
struct TreeRow<'a> {
    name: String,
    tally: &'a DirectoryTally,
    /// How much of its content is shown, and where its subdirectories are.
    directories: usize,
    names: usize,
    first: usize,
}

impl<'a> TreeRow<'a> {
    fn folded(name: &[u8], tally: &'a DirectoryTally) -> Self {
        Self { name: printable(name).into_owned(), tally, directories: 0, names: 0, first: 0 }
    }

    /// The files that are neither named nor in a directory that is shown.
    fn unnamed(&self) -> u64 {
        let below = self.tally.directories.values().take(self.directories);
        self.tally.files - below.map(|one| one.files).sum::<u64>() - self.names as u64
    }

    /// Shows all of its content if that fits, or the first part if `in_part`. Gives the number of lines.
    fn unfold(&mut self, room: usize, in_part: bool) -> usize {
        let DirectoryTally { directories, names, .. } = self.tally;
        (self.directories, self.names) = (directories.len(), names.len());
        let lines = self.lines();
        if self.directories + self.names > 0 && lines <= room {
            return lines;
        }
        if in_part && room > 0 {
            self.directories = self.directories.min(room - 1);
            self.names = self.names.min(room - 1 - self.directories);
            return self.lines();
        }
        (self.directories, self.names) = (0, 0);
        0
    }

    fn lines(&self) -> usize {
        self.directories + self.names + usize::from(self.unnamed() > 0)
    }
}

/// Writes at most `max_lines` lines. What is near the start comes first. A directory whose content does
/// not fit is one line; only the start is shown in part.
pub(super) fn tree_text(name: &str, tree: &DirectoryTally, max_lines: usize) -> String {
    let name = if name.is_empty() { "." } else { name };
    let mut rows = vec![TreeRow::folded(name.as_bytes(), tree)];
    let mut room = max_lines.saturating_sub(1);
    // Subdirectories are appended, so this is a walk by levels.
    let mut next = 0;
    while next < rows.len() {
        room -= rows[next].unfold(room, next == 0);
        rows[next].first = rows.len();
        let TreeRow { tally, directories, .. } = rows[next];
        let below = tally.directories.iter().take(directories);
        rows.extend(below.map(|(name, tally)| TreeRow::folded(name, tally)));
        next += 1;
    }
    let mut text = String::new();
    write(&rows, 0, 0, &mut text);
    text
}

fn write(rows: &[TreeRow<'_>], index: usize, depth: usize, text: &mut String) {
    let one = &rows[index];
    let slash = if one.name.ends_with('/') { "" } else { "/" };
    let indent = depth * 2;
    let _ = writeln!(text, "{:indent$}{}{slash} ({})", "", one.name, files(one.tally.files));
    for child in one.first..one.first + one.directories {
        write(rows, child, depth + 1, text);
    }
    let indent = indent + 2;
    for name in one.tally.names.iter().take(one.names) {
        let _ = writeln!(text, "{:indent$}{}", "", printable(name));
    }
    let more = one.unnamed();
    if more > 0 && one.directories + one.names > 0 {
        let _ = writeln!(text, "{:indent$}… {} more", "", files(more));
    }
}

fn files(count: u64) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}

//! Changes of paths, as checkpoints and forks report them: their kinds, and the diff of one file.
//!
//! ```
//! use toolwright_changes::{FileDiff, Side};
//!
//! let side = |mode, text: &str| Some(Side { mode, text: Some(text.to_owned()) });
//! let FileDiff { heading, body } = FileDiff::of(b"a", side(0o644, "1\n"), side(0o755, "1\n"));
//! assert_eq!((&*heading, &*body), ("diff a/a b/a\n", "old mode 644\nnew mode 755\n"));
//! ```

use std::fmt::Write;
use std::time::Duration;

use similar::{Algorithm, TextDiff};
use toolwright_names::printable;

/// A larger file is shown as changed, without its lines.
pub const MAX_TEXT_BYTES: u64 = 1 << 20;
/// Comparing two files ends after this time, with a diff that may be longer than the shortest.
const MAX_COMPARING: Duration = Duration::from_millis(200);

/// What happened to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is there, and was not.
    Created,
    /// Its content, its permissions or its time changed.
    Modified,
    /// It was there.
    Deleted,
}

impl ChangeKind {
    /// Its name.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
        }
    }
}

/// What a path is, or was before it was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// A directory.
    Directory,
}

impl EntryKind {
    /// Its name.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Link => "link",
            Self::Directory => "directory",
        }
    }
}

/// What one side has at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// Its permissions.
    pub mode: u32,
    /// Its text; `None` where it is no text.
    pub text: Option<String>,
}

/// The unified diff of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// The line that names it.
    pub heading: String,
    /// What follows; empty if the text and the permissions are the same.
    pub body: String,
}

impl FileDiff {
    /// Compares the sides of a path, of which one may have nothing.
    #[must_use]
    pub fn of(path: &[u8], old: Option<Side>, new: Option<Side>) -> Self {
        let name = |prefix: &[u8]| printable(&[prefix, path].concat()).into_owned();
        let (a, b) = (name(b"a/"), name(b"b/"));
        let from = if old.is_some() { &a } else { "/dev/null" };
        let to = if new.is_some() { &b } else { "/dev/null" };
        let mut body = String::new();
        if let (Some(old), Some(new)) = (&old, &new)
            && old.mode != new.mode
        {
            body = format!("old mode {:o}\nnew mode {:o}\n", old.mode, new.mode);
        }
        let [old, new] = [old, new].map(|side| side.map_or(Some(String::new()), |side| side.text));
        match (old, new) {
            (Some(old), Some(new)) if old == new => {}
            (Some(old), Some(new)) => {
                let diff = TextDiff::configure()
                    .algorithm(Algorithm::Myers)
                    .timeout(MAX_COMPARING)
                    .diff_lines(&old, &new);
                body += &diff.unified_diff().context_radius(3).header(from, to).to_string();
            }
            _ => {
                let _ = writeln!(body, "Binary files {from} and {to} differ");
            }
        }
        Self { heading: format!("diff {a} {b}\n"), body }
    }
}

/// The text that bytes are, if they are one.
#[must_use]
pub fn text_of(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

/// The part of a text up to the end of the last whole line that fits.
#[must_use]
pub fn lines_within(text: &str, max: usize) -> &str {
    let fits = &text.as_bytes()[..max.min(text.len())];
    &text[..fits.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)]
}

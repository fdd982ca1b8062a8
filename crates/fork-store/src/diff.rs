//! The changes of a fork as a unified diff.

use std::fmt::Write;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use similar::{Algorithm, TextDiff};
use toolwright_names::printable;

use crate::changes::{Change, EntryKind};
use crate::tree;

/// A larger file is shown as changed, without its lines.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Comparing two files ends after this time, with a diff that may be longer than the shortest.
const MAX_COMPARING: Duration = Duration::from_millis(200);

/// The changes of the texts of a fork.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    /// A unified diff.
    pub text: String,
    /// Whether it ends early.
    pub is_cut: bool,
}

impl Diff {
    /// Adds the diffs of changes, up to `max` bytes.
    pub(crate) fn of(
        changes: &[Change],
        upper: BorrowedFd<'_>,
        base: BorrowedFd<'_>,
        max: usize,
    ) -> Self {
        let mut diff = Self::default();
        for change in changes.iter().filter(|change| change.entry != EntryKind::Directory) {
            let file = one(change, upper, base);
            if diff.text.len() + file.len() > max {
                let room = max - diff.text.len();
                let end = file.as_bytes()[..room].iter().rposition(|byte| *byte == b'\n');
                diff.text += &file[..end.map_or(0, |end| end + 1)];
                diff.is_cut = true;
                break;
            }
            diff.text += &file;
        }
        diff
    }
}

fn one(change: &Change, upper: BorrowedFd<'_>, base: BorrowedFd<'_>) -> String {
    let path = change.path.as_os_str().as_bytes();
    let name = |prefix: &[u8]| printable(&[prefix, path].concat()).into_owned();
    let (a, b) = (name(b"a/"), name(b"b/"));
    let from = if change.base.is_some() { &a } else { "/dev/null" };
    let to = if change.fork.is_some() { &b } else { "/dev/null" };
    let mut text = format!("diff {a} {b}\n");
    if let (Some(old), Some(new)) = (change.base, change.fork)
        && old.mode != new.mode
    {
        let _ = write!(text, "old mode {:o}\nnew mode {:o}\n", old.mode, new.mode);
    }
    let old = change.base.map_or(Some(String::new()), |_| content(base, &change.path));
    let new = change.fork.map_or(Some(String::new()), |_| content(upper, &change.path));
    match (old, new) {
        (Some(old), Some(new)) if old == new => {}
        (Some(old), Some(new)) => {
            let diff = TextDiff::configure()
                .algorithm(Algorithm::Myers)
                .timeout(MAX_COMPARING)
                .diff_lines(&old, &new);
            text += &diff.unified_diff().context_radius(3).header(from, to).to_string();
        }
        _ => {
            let _ = writeln!(text, "Binary files {from} and {to} differ");
        }
    }
    text
}

/// The text of a file, or where a link leads; `None` where it is no text.
fn content(root: BorrowedFd<'_>, path: &Path) -> Option<String> {
    let (parent, name) = tree::parent(root, path).ok()?;
    let bytes = match tree::link(&parent, name) {
        Ok(text) => text,
        Err(_) => tree::read(&parent, name, MAX_FILE_BYTES).ok()?,
    };
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

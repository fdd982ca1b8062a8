//! Merging texts that the fork and the base have changed at different lines.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use toolwright_changes::{ChangeKind, EntryKind};
use toolwright_fs::{ChangeSet, FileChange, Place, Replacement, UpdateError, WriteOptions};

use crate::ancestors::{Ancestor, MAX_TEXT, is_text};
use crate::base_changes::LIMITS;
use crate::changes::{Change, Conflict, PERMISSIONS, Side};
use crate::error::{ForkError, Result};
use crate::fork::Fork;
use crate::tree;

/// A file that both sides have changed, and what comes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Merge {
    pub(crate) path: PathBuf,
    /// What the base had when they were merged. If it has something else by now, nothing is written.
    pub(crate) base: Text,
    fork: Text,
    pub(crate) merged: Text,
}

/// A text and its permissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) mode: u32,
    pub(crate) bytes: Vec<u8>,
}

impl Fork {
    /// Merges what both sides have changed, where their lines are disjoint. The changes are conflicts no longer then.
    pub(crate) fn merge(&self, changes: &mut [Change]) -> Result<Vec<Merge>> {
        let mut merges = Vec::new();
        for change in changes {
            let is_of_both = change.conflict == Some(Conflict::Changed)
                && (change.kind, change.entry) == (ChangeKind::Modified, EntryKind::File);
            if !is_of_both {
                continue;
            }
            let Some(was) = self.ancestor(&change.path)? else { continue };
            let read = |root: BorrowedFd<'_>| text(root, change);
            let Some((base, fork)) = read(self.base_fd.as_fd()).zip(read(self.upper.as_fd()))
            else {
                continue;
            };
            let Some(both) = merged(&was, &base, &fork) else { continue };
            let bytes = both.bytes.len() as u64;
            change.fork = Some(Side { mode: both.mode, bytes });
            (change.conflict, change.is_merged) = (None, true);
            merges.push(Merge { path: change.path.clone(), base, fork, merged: both });
        }
        Ok(merges)
    }

    /// Has the fork have what was merged, so that it and the base agree afterwards. If the base is not written then, the
    /// next merge comes to the same.
    pub(crate) fn take_merged(&self, merges: &[Merge], cancel: &AtomicBool) -> Result<()> {
        let by = |merge: &Merge| Replacement::File { mode: Some(merge.merged.mode) };
        let changes: Vec<FileChange<'_>> = merges
            .iter()
            .map(|merge| FileChange {
                place: Place::Path(merge.path.to_str().unwrap_or_default()),
                change: toolwright_fs::Change::Replace { by: by(merge) },
            })
            .collect();
        let root = self.own_root()?;
        let set = ChangeSet { root: &root, changes: &changes, emptied: &[], limits: LIMITS };
        let done = set.run(&WriteOptions::default(), cancel, |index, before| {
            let merge = &merges[index];
            if before.bytes == merge.fork.bytes { Ok(merge.merged.bytes.clone()) } else { Err(()) }
        });
        match done {
            Ok(_) => Ok(()),
            Err(UpdateError::Fs(error)) => Err(error.into()),
            // An agent writes there at the moment.
            Err(UpdateError::Refused(())) => Err(ForkError::Busy { id: self.id().to_owned() }),
        }
    }
}

/// The file at a path of one side, if it is a text.
fn text(root: BorrowedFd<'_>, change: &Change) -> Option<Text> {
    let (parent, name) = tree::parent(root, &change.path).ok()?;
    let mode = tree::look(&parent, name).ok()??.st_mode & PERMISSIONS;
    let bytes = tree::read(&parent, name, MAX_TEXT).ok()?;
    is_text(&bytes).then_some(Text { mode, bytes })
}

/// What comes of both. `None`: they have changed the same.
fn merged(was: &Ancestor, base: &Text, fork: &Text) -> Option<Text> {
    let mode = match (was.mode == base.mode, was.mode == fork.mode) {
        (_, true) => base.mode,
        (true, _) => fork.mode,
        _ if base.mode == fork.mode => base.mode,
        _ => return None,
    };
    let [was, base, fork] =
        [&was.bytes, &base.bytes, &fork.bytes].map(|it| std::str::from_utf8(it));
    let bytes = merged_lines(was.ok()?, base.ok()?, fork.ok()?)?.into_bytes();
    Some(Text { mode, bytes })
}

/// Lines that are changed on one side stay apart from those of the other by a line that nobody has changed.
fn merged_lines(was: &str, base: &str, fork: &str) -> Option<String> {
    diffy::merge(was, base, fork).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(numbers: &[u8]) -> String {
        let lines: Vec<String> = numbers.iter().map(|number| format!("line {number}\n")).collect();
        lines.concat()
    }

    #[test]
    fn disjoint_lines_are_merged_and_others_are_not() {
        let was = "one\r\ntwo\r\nthree\r\nfour\r\nfive";
        let merge = |base, fork| merged_lines(was, base, fork);
        assert_eq!(
            merge(
                "ONE\r\ntwo\r\nthree\r\nfour\r\nfive",
                "one\r\ntwo\r\nthree\r\nfour\r\nfive\r\nsix\r\n"
            )
            .as_deref(),
            Some("ONE\r\ntwo\r\nthree\r\nfour\r\nfive\r\nsix\r\n")
        );
        assert_eq!(
            merge("ONE\r\ntwo\r\nthree\r\nfour\r\nfive", "1\r\ntwo\r\nthree\r\nfour\r\nfive"),
            None
        );
        // Neighbours are not disjoint: neither side has seen the line that the other has made.
        assert_eq!(
            merge("ONE\r\ntwo\r\nthree\r\nfour\r\nfive", "one\r\nTWO\r\nthree\r\nfour\r\nfive"),
            None
        );
        // Other ends of lines are changes of all of them.
        assert_eq!(
            merge("one\ntwo\nthree\nfour\nfive", "one\r\nTWO\r\nthree\r\nfour\r\nfive"),
            None
        );
        // Both have removed something next to the other.
        assert_eq!(merge("two\r\nthree\r\nfour\r\nfive", "one\r\nthree\r\nfour\r\nfive"), None);
    }

    #[test]
    fn permissions_are_merged() {
        let text = |mode, bytes: &str| Text { mode, bytes: bytes.into() };
        let was = Ancestor { mode: 0o644, bytes: b"a\nb\nc\nd\n".to_vec() };
        let both = |base, fork| {
            let merged = merged(&was, &text(base, "A\nb\nc\nd\n"), &text(fork, "a\nb\nc\nD\n"));
            merged.map(|it| (it.mode, String::from_utf8(it.bytes).expect("text")))
        };
        let content = "A\nb\nc\nD\n".to_owned();
        assert_eq!(both(0o644, 0o755), Some((0o755, content.clone())));
        assert_eq!(both(0o600, 0o644), Some((0o600, content.clone())));
        assert_eq!(both(0o755, 0o755), Some((0o755, content)));
        assert_eq!(both(0o600, 0o755), None);
    }

    proptest! {
        /// Each side changes its own half, with a line between them that stays.
        #[test]
        fn both_halves_are_kept(
            was in (prop::collection::vec(0_u8..9, 0..8), prop::collection::vec(0_u8..9, 0..8)),
            base in prop::collection::vec(10_u8..19, 0..8),
            fork in prop::collection::vec(20_u8..29, 0..8),
        ) {
            let middle = "the middle\nof it\n";
            let whole = |top: &str, end: &str| format!("{top}{middle}{end}");
            let (top, end) = (lines(&was.0), lines(&was.1));
            let merged = merged_lines(
                &whole(&top, &end),
                &whole(&lines(&base), &end),
                &whole(&top, &lines(&fork)),
            );
            prop_assert_eq!(merged, Some(whole(&lines(&base), &lines(&fork))));
        }

        /// What is merged has each line that one side has added, and no line that a side has removed.
        #[test]
        fn no_line_is_lost_or_comes_back(
            was in prop::collection::vec(0_u8..30, 0..10),
            base in prop::collection::vec(0_u8..30, 0..10),
            fork in prop::collection::vec(0_u8..30, 0..10),
        ) {
            use std::collections::BTreeSet;
            let distinct = |numbers: &[u8]| {
                let mut seen = BTreeSet::new();
                numbers.iter().copied().filter(|number| seen.insert(*number)).collect::<Vec<_>>()
            };
            let (was, base, fork) = (distinct(&was), distinct(&base), distinct(&fork));
            let Some(merged) = merged_lines(&lines(&was), &lines(&base), &lines(&fork)) else {
                return Ok(());
            };
            let numbers: Vec<u8> = merged.lines().filter_map(|line| line.strip_prefix("line ")?.parse().ok()).collect();
            prop_assert_eq!(lines(&numbers), merged);
            for (side, other) in [(&base, &fork), (&fork, &base)] {
                let added = side.iter().filter(|number| !was.contains(number));
                for number in added {
                    prop_assert!(numbers.contains(number), "{} is lost", number);
                }
                for number in was.iter().filter(|number| !side.contains(number)) {
                    // A line that moved is removed at one place and added at another.
                    prop_assert!(!numbers.contains(number) || other.iter().position(|it| it == number) != was.iter().position(|it| it == number), "{} is back", number);
                }
            }
        }
    }
}

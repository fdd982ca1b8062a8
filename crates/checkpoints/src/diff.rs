//! What changed between two checkpoints.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rusqlite::Connection;
use toolwright_changes::{
    ChangeKind, EntryKind, FileDiff, MAX_TEXT_BYTES, Side, lines_within, text_of,
};

use crate::content;
use crate::error::{Result, Tx};
use crate::state::{STATE_COLUMNS, State, VERSIONS, What, read_state};
use crate::unkept::Making;
use crate::{CheckpointError, Checkpoints};

/// A path that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path, relative to the directory.
    pub path: PathBuf,
    /// What happened.
    pub kind: ChangeKind,
    /// What it is or was.
    pub entry: EntryKind,
    /// Whether its content or its permissions changed, and not only its time.
    pub in_content: bool,
}

/// The difference of two checkpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    /// What changed, in the order of the paths.
    pub changes: Vec<Change>,
    /// The changes of the texts as a unified diff, if that was asked for.
    pub text: String,
    /// Whether the text ends early.
    pub is_cut: bool,
}

pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// The change of a path from one state to another, if both are of things that are kept. What an entry
/// was is not known where it was not kept.
pub(crate) fn change_between(
    path: &[u8],
    old: Option<&State>,
    new: Option<&State>,
) -> Option<Change> {
    let kind = match (old, new) {
        (Some(old), Some(new)) if !old.is_kept() || !new.is_kept() || !new.is_change_of(old) => {
            return None;
        }
        (Some(_), Some(_)) => ChangeKind::Modified,
        (None, Some(_)) => ChangeKind::Created,
        (Some(_), None) => ChangeKind::Deleted,
        (None, None) => return None,
    };
    let entry = match new.or(old)?.what {
        What::File { .. } => EntryKind::File,
        What::Link(_) => EntryKind::Link,
        What::Directory => EntryKind::Directory,
        What::Ignored | What::Skipped(_) => return None,
    };
    let in_content = !matches!((old, new), (Some(old), Some(new)) if new.has_content_of(old));
    Some(Change { path: path_of(path), kind, entry, in_content })
}

/// The states of a path at two checkpoints, and who changed it in between.
#[derive(Debug, Default)]
pub(crate) struct Span {
    pub(crate) old: Option<State>,
    pub(crate) new: Option<State>,
    /// Somebody else changed its content in between.
    pub(crate) by_others: bool,
    /// How the old and the new one were made.
    pub(crate) old_making: Making,
    pub(crate) new_making: Making,
}

/// The paths that have other states at `to` than at `from`, which is earlier.
pub(crate) fn spans(connection: &Connection, from: i64, to: i64) -> Tx<BTreeMap<Box<[u8]>, Span>> {
    let mut spans: BTreeMap<Box<[u8]>, Span> = BTreeMap::new();
    let mut add = |sql: &str| -> Tx<()> {
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query([from, to])?;
        while let Some(row) = rows.next()? {
            let path = row.get_ref(0)?.as_blob().unwrap_or_default();
            let (first, last) = (row.get::<_, i64>(1)?, row.get::<_, Option<i64>>(2)?);
            let column = row.get::<_, i64>(3)?;
            let (ours, making) = (column & 1 != 0, Making::of_column(column));
            let last_ours = row.get::<_, Option<bool>>(4)?;
            let span = spans.entry(path.into()).or_default();
            span.by_others |= first > from && !ours;
            span.by_others |= last.is_some_and(|last| last <= to) && last_ours == Some(false);
            if first <= from {
                span.old = Some(read_state(row, 5)?);
                span.old_making = making;
            }
            if last.is_none_or(|last| last > to) {
                span.new = Some(read_state(row, 5)?);
                span.new_making = making;
            }
        }
        Ok(())
    };
    let columns = format!("v.path, v.first, v.last, v.ours, v.last_ours, {STATE_COLUMNS}");
    add(&format!("SELECT {columns} FROM {VERSIONS} WHERE v.last > ?1 AND v.last <= ?2"))?;
    add(&format!(
        "SELECT {columns} FROM {VERSIONS}
         WHERE v.first > ?1 AND v.first <= ?2 AND (v.last IS NULL OR v.last > ?2)"
    ))?;
    spans.retain(|_, span| span.old != span.new);
    Ok(spans)
}

/// Fails if there is no such checkpoint.
pub(crate) fn check_exists(connection: &Connection, id: i64) -> Tx<()> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM checkpoints WHERE id = ?1")?;
    if statement.exists([id])? { Ok(()) } else { Err(CheckpointError::NoCheckpoint { id }.into()) }
}

impl Checkpoints {
    /// What changed from one checkpoint to another, in whichever order they are. With `max_text` the
    /// texts are compared, and their diff is cut at that many bytes.
    pub fn diff(&self, from: i64, to: i64, max_text: Option<usize>) -> Result<Diff> {
        self.database.read("comparing checkpoints", |connection| -> Tx<Diff> {
            check_exists(connection, from)?;
            check_exists(connection, to)?;
            let mut changes = Vec::new();
            let mut text = UnifiedText::new(max_text);
            for (path, mut span) in spans(connection, from.min(to), from.max(to))? {
                if from > to {
                    std::mem::swap(&mut span.old, &mut span.new);
                }
                let (old, new) = (span.old.as_ref(), span.new.as_ref());
                if let Some(change) = change_between(&path, old, new) {
                    if change.in_content {
                        self.add_text(connection, &mut text, &path, old, new)?;
                    }
                    changes.push(change);
                }
            }
            let UnifiedText { text, is_cut, .. } = text;
            Ok(Diff { changes, text, is_cut })
        })
    }

    fn add_text(
        &self,
        connection: &Connection,
        output: &mut UnifiedText,
        path: &[u8],
        old: Option<&State>,
        new: Option<&State>,
    ) -> Tx<()> {
        if output.is_full() {
            return Ok(());
        }
        let is_directory = |state: Option<&State>| state.is_some_and(State::is_directory);
        if is_directory(old) && is_directory(new) || is_directory(old.or(new)) {
            return Ok(());
        }
        let side = |state: Option<&State>| -> Tx<Option<Side>> {
            let Some(state) = state else { return Ok(None) };
            Ok(Some(Side { mode: state.mode, text: self.text_of(connection, state)? }))
        };
        output.add(&FileDiff::of(path, side(old)?, side(new)?));
        Ok(())
    }

    /// The text of a state; `None` where it is no text.
    fn text_of(&self, connection: &Connection, state: &State) -> Tx<Option<String>> {
        Ok(match &state.what {
            What::Link(text) => String::from_utf8(text.clone()).ok(),
            What::File { content, size, hash } if *size <= MAX_TEXT_BYTES => {
                let mut bytes = Vec::new();
                let failed = |source| CheckpointError::File {
                    path: PathBuf::new(),
                    operation: "reading a content",
                    source,
                };
                let place = (*content, hash);
                content::write_to(connection, self.database.path(), place, &mut bytes, failed)?;
                text_of(bytes)
            }
            _ => None,
        })
    }
}

/// A unified diff of several files that may not become too long.
struct UnifiedText {
    text: String,
    max: Option<usize>,
    is_cut: bool,
}

impl UnifiedText {
    fn new(max: Option<usize>) -> Self {
        Self { text: String::new(), max, is_cut: false }
    }

    fn is_full(&self) -> bool {
        self.max.is_none() || self.is_cut
    }

    fn add(&mut self, FileDiff { heading, body }: &FileDiff) {
        if body.is_empty() {
            return;
        }
        let rest = self.max.unwrap_or(0).saturating_sub(self.text.len() + heading.len());
        self.is_cut = body.len() > rest;
        if self.is_cut && rest == 0 {
            return;
        }
        self.text += heading;
        self.text += if self.is_cut { lines_within(body, rest) } else { body };
    }
}

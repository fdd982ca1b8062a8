//! What the store has.

use crate::diff::path_of;
use crate::error::Tx;
use crate::{CheckpointError, Checkpoints};
use std::path::PathBuf;

/// A checkpoint in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its number.
    pub id: i64,
    /// When it was taken, in milliseconds since 1970.
    pub at_ms: i64,
    /// Whether what changed before it was done by somebody else.
    pub by_others: bool,
    /// Its name, if it has one.
    pub label: Option<String>,
    /// How many paths had changed.
    pub changes: u64,
    /// The calls that ended with it.
    pub calls: Vec<String>,
    /// The turns that began with it.
    pub turns: Vec<String>,
}

/// A restoration in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedRestore {
    /// The checkpoint that was restored.
    pub target: i64,
    /// The checkpoint before it.
    pub before: i64,
    /// The checkpoint after it.
    pub after: Option<i64>,
    /// When it began, in milliseconds since 1970.
    pub at_ms: i64,
    /// `done`, `interrupted` by the end of its process, or `running`.
    pub state: String,
    /// Its paths, each with what it is now: `new`, `old`, or `other`, which is somebody else's.
    pub files: Vec<(PathBuf, String)>,
}

impl Checkpoints {
    /// The newest checkpoints, the newest one first.
    pub fn list(&self, limit: u64, before: Option<i64>) -> Result<Vec<Listed>, CheckpointError> {
        self.database.read("listing checkpoints", |connection| -> Tx<Vec<Listed>> {
            let mut statement = connection.prepare_cached(
                "SELECT id, at_ms, origin, label, changes FROM checkpoints
                 WHERE id < ?2 ORDER BY id DESC LIMIT ?1",
            )?;
            let mut calls = connection.prepare_cached(
                "SELECT name, kind FROM checkpoint_windows
                 WHERE kind = 'call' AND last = ?1 AND first <> last
                     OR kind = 'turn' AND first = ?1 ORDER BY name",
            )?;
            let mut rows = statement.query((limit, before.unwrap_or(i64::MAX)))?;
            let mut listed = Vec::new();
            while let Some(row) = rows.next()? {
                let id = row.get(0)?;
                let mut found = Listed {
                    id,
                    at_ms: row.get(1)?,
                    by_others: row.get::<_, String>(2)? == "others",
                    label: row.get(3)?,
                    changes: row.get(4)?,
                    calls: Vec::new(),
                    turns: Vec::new(),
                };
                let mut windows = calls.query([id])?;
                while let Some(window) = windows.next()? {
                    let is_call = window.get::<_, String>(1)? == "call";
                    let names = if is_call { &mut found.calls } else { &mut found.turns };
                    names.push(window.get(0)?);
                }
                listed.push(found);
            }
            Ok(listed)
        })
    }

    /// The newest restorations, the newest one first.
    pub fn restores(&self, limit: u64) -> Result<Vec<ListedRestore>, CheckpointError> {
        self.database.read("listing restorations", |connection| -> Tx<Vec<ListedRestore>> {
            let mut statement = connection.prepare_cached(
                "SELECT id, target, before, after, at_ms, state FROM checkpoint_restores
                 ORDER BY id DESC LIMIT ?1",
            )?;
            let mut steps = connection.prepare_cached(
                "SELECT DISTINCT path, coalesce(outcome, 'unknown') FROM checkpoint_steps
                 WHERE restore = ?1 ORDER BY path",
            )?;
            let mut rows = statement.query([limit])?;
            let mut listed = Vec::new();
            while let Some(row) = rows.next()? {
                let files = steps
                    .query_map([row.get::<_, i64>(0)?], |step| {
                        let path = step.get_ref(0)?.as_blob().unwrap_or_default();
                        Ok((path_of(path), step.get(1)?))
                    })?
                    .collect::<Result<_, _>>()?;
                listed.push(ListedRestore {
                    target: row.get(1)?,
                    before: row.get(2)?,
                    after: row.get(3)?,
                    at_ms: row.get(4)?,
                    state: row.get(5)?,
                    files,
                });
            }
            Ok(listed)
        })
    }
}

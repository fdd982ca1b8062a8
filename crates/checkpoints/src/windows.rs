//! The time of a call or a turn: from one checkpoint to another.
//!
//! A call that runs has an open window with its process. While there is one, nobody can tell whether a change
//! is the call's or somebody else's, and it counts as the call's: also when its process was killed.

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;

use rusqlite::OptionalExtension;
use toolwright_process::ShortId;
use toolwright_sqlite::sync::lock;

use crate::alone::Alone;
use crate::error::{Result, Tx};
use crate::look::file_time;
use crate::{CheckpointError, Checkpoints, Diff, Origin, Progress, Take, Taken};

/// What a window is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowKind {
    /// One call.
    Call,
    /// One turn of a conversation.
    Turn,
}

impl WindowKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Turn => "turn",
        }
    }
}

/// A call that runs. Its changes are known when it is ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningCall {
    /// The name of the call.
    pub call: String,
    /// The turn that it belongs to.
    pub turn: Option<String>,
    /// The checkpoint before it.
    pub before: i64,
}

/// A call that is not known to have ended.
struct OpenCall {
    name: String,
    turn: Option<String>,
    first: i64,
    is_running: bool,
}

impl Checkpoints {
    /// A call is about to change files: takes a checkpoint, unless nothing has changed. What has changed
    /// was done by somebody else, except while other calls run.
    pub fn begin_call(
        &self,
        call: &str,
        turn: Option<&str>,
        cancel: &AtomicBool,
        progress: &Progress,
    ) -> Result<RunningCall> {
        let began = file_time();
        let before = self.look(cancel, progress)?.id;
        lock(&self.began).insert(call.to_owned(), began);
        let owner = ShortId::current().to_string();
        self.begin(WindowKind::Call, call, before, Some((&owner, turn)))?;
        if let Some(turn) = turn {
            self.extend(WindowKind::Turn, turn, before, before)?;
        }
        Ok(RunningCall { call: call.to_owned(), turn: turn.map(str::to_owned), before })
    }

    /// The call has ended, however it did: takes a checkpoint, unless nothing has changed. What has
    /// changed was done by it. Gives the difference, with the same meaning of `max_text` as
    /// [`Checkpoints::diff`].
    pub fn end_call(
        &self,
        running: &RunningCall,
        max_text: Option<usize>,
        cancel: &AtomicBool,
        progress: &Progress,
    ) -> Result<(Taken, Diff)> {
        let take = Take { origin: Origin::Ours, label: None, reuse: true };
        let taken = self.take(take, cancel, progress);
        lock(&self.began).remove(&running.call);
        let last = taken.as_ref().map_or(running.before, |taken| taken.id);
        self.close_call(&running.call, running.turn.as_deref(), (running.before, last))?;
        let taken = taken?;
        let diff = self.diff(running.before, taken.id, max_text)?;
        Ok((taken, diff))
    }

    /// A turn begins, with a checkpoint under its name.
    pub fn begin_turn(
        &self,
        turn: &str,
        cancel: &AtomicBool,
        progress: &Progress,
    ) -> Result<Taken> {
        let taken = self.look(cancel, progress)?;
        self.begin(WindowKind::Turn, turn, taken.id, None)?;
        Ok(taken)
    }

    /// Looks at the tree as it is: a checkpoint, unless nothing has changed.
    pub fn look(&self, cancel: &AtomicBool, progress: &Progress) -> Result<Taken> {
        let alone = self.alone(cancel)?;
        alone.settle(cancel, progress)?;
        let taken = alone.look(cancel, progress)?;
        alone.bound()?;
        Ok(taken)
    }

    /// The first and the last checkpoint of a call or a turn.
    pub fn window(&self, kind: WindowKind, name: &str) -> Result<(i64, i64)> {
        let kind = kind.as_str();
        let found = self.database.read("looking for a call", |connection| -> Tx<_> {
            let mut statement = connection.prepare_cached(
                "SELECT first, last FROM checkpoint_windows WHERE kind = ?1 AND name = ?2",
            )?;
            let pair = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            Ok(statement.query_row([kind, name], pair).optional()?)
        })?;
        found.ok_or_else(|| CheckpointError::NoWindow { kind, name: name.to_owned() })
    }

    /// A window begins. Models use some ids again and again: an older one of the same name is forgotten.
    fn begin(
        &self,
        kind: WindowKind,
        name: &str,
        first: i64,
        call: Option<(&str, Option<&str>)>,
    ) -> Result<()> {
        let (owner, turn) = call.map_or((None, None), |(owner, turn)| (Some(owner), turn));
        self.database.transaction("noting a call", |connection| -> Tx<()> {
            let sql = "INSERT OR REPLACE INTO checkpoint_windows VALUES (?1, ?2, ?3, ?3, ?4, ?5)";
            let row = (kind.as_str(), name, first, turn, owner);
            connection.prepare_cached(sql)?.execute(row)?;
            Ok(())
        })
    }

    pub(crate) fn extend(&self, kind: WindowKind, name: &str, first: i64, last: i64) -> Result<()> {
        self.database.transaction("noting a call", |connection| -> Tx<()> {
            connection
                .prepare_cached(
                    "INSERT INTO checkpoint_windows (kind, name, first, last)
                     VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET last = max(last, ?4)",
                )?
                .execute((kind.as_str(), name, first, last))?;
            Ok(())
        })
    }

    fn close_call(&self, call: &str, turn: Option<&str>, (first, last): (i64, i64)) -> Result<()> {
        self.extend(WindowKind::Call, call, first, last)?;
        if let Some(turn) = turn {
            self.extend(WindowKind::Turn, turn, first, last)?;
        }
        self.database.transaction("noting a call", |connection| -> Tx<()> {
            let sql =
                "UPDATE checkpoint_windows SET owner = NULL WHERE kind = 'call' AND name = ?1";
            connection.prepare_cached(sql)?.execute([call])?;
            Ok(())
        })
    }

    fn open_calls(&self) -> Result<Vec<OpenCall>> {
        self.database.read("looking for calls that run", |connection| -> Tx<_> {
            let mut statement = connection.prepare_cached(
                "SELECT name, turn, first, owner FROM checkpoint_windows WHERE owner IS NOT NULL",
            )?;
            let calls = statement.query_map([], |row| {
                let owner: String = row.get(3)?;
                let owner = ShortId::parse_prefix(&format!("{owner}-")).map(|(owner, _)| owner);
                // A process of another container cannot be judged, and must not make all changes ours
                // for ever.
                let is_running = owner.and_then(|owner| owner.is_running()) == Some(true);
                Ok(OpenCall {
                    name: row.get(0)?,
                    turn: row.get(1)?,
                    first: row.get(2)?,
                    is_running,
                })
            })?;
            Ok(calls.collect::<Result<_, _>>()?)
        })
    }
}

impl Alone<'_> {
    /// Takes a checkpoint of changes that no call has ended with, unless nothing has changed.
    pub(crate) fn look(&self, cancel: &AtomicBool, progress: &Progress) -> Result<Taken> {
        let open = self.store.open_calls()?;
        let origin = if open.is_empty() { Origin::Others } else { Origin::Ours };
        let take = Take { origin, label: None, reuse: true };
        let taken = self.take(take, &HashSet::new(), cancel, progress)?;
        for OpenCall { name, turn, first, .. } in open.iter().filter(|call| !call.is_running) {
            self.store.close_call(name, turn.as_deref(), (*first, taken.id))?;
        }
        Ok(taken)
    }
}

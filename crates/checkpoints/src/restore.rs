//! Restoring: what a plan says, prepared first and then put in place file by file.
//!
//! 1. A checkpoint is taken, so that the restoration can be undone.
//! 2. The steps are written into the store: should this process be killed, the next one finds what each
//!    file should have been and should have become (see [`crate::settle`]).
//! 3. Every new file and link is written beside its place, under a name of its own. A full disk is
//!    noticed here, before anything has changed.
//! 4. Files that go are taken away, directories are removed and made, and the new entries are put in place.
//! 5. What was done is recorded as a checkpoint.

mod attributes;
mod work;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use rusqlite::Connection;

use crate::alone::Alone;
use crate::descent::Descent;
use crate::diff::{Change, path_of};
use crate::error::{Conflict, ConflictReason, Result, Tx};
use crate::look::now;
use crate::plan::{Item, Plan, Restore};
use crate::state::State;
use crate::swap::Print;
use crate::take::Writing;
use crate::windows::WindowKind;
use crate::{CheckpointError, Checkpoints, Origin, Progress, Take};
use work::{Unmade, Work, nearest_directory};

/// What a restoration did, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Restored {
    /// The checkpoint of the state before it.
    pub before: i64,
    /// The checkpoint of the state after it; `None` if nothing was to be done.
    pub after: Option<i64>,
    /// What it changed, in the order of the paths.
    pub changes: Vec<Change>,
    /// What it left as it was, and why.
    pub conflicts: Vec<Conflict>,
    /// Directories that are not empty and so were left, entries that the system did not let change, what is not
    /// kept, and what may be the only copy of something that is not kept.
    pub left: Vec<(PathBuf, String)>,
}

/// A step of a restoration, as recorded in the store.
pub(crate) struct Step<'a> {
    pub(crate) number: i64,
    pub(crate) item: &'a Item,
    /// The directory in which the new entry is prepared, and the old one removed.
    pub(crate) stage: Vec<u8>,
}

/// The part of a path before its last name, and that name.
pub(crate) fn split(path: &[u8]) -> (&[u8], &OsStr) {
    let slash = path.iter().rposition(|byte| *byte == b'/');
    let (above, name) = slash.map_or((&path[..0], path), |at| (&path[..at], &path[at + 1..]));
    (above, OsStr::from_bytes(name))
}

impl Checkpoints {
    /// Brings the tree, or a part of it, back to a checkpoint. Only what differs is written. `call` names
    /// the restoration, so that it can be undone like any call.
    ///
    /// # Errors
    ///
    /// [`CheckpointError::Conflicts`] if somebody else has changed a file since, unless forced, and
    /// [`CheckpointError::File`] if a new file cannot be written. Nothing has changed then.
    pub fn restore(
        &self,
        restore: Restore<'_>,
        call: Option<&str>,
        cancel: &AtomicBool,
        progress: &Progress,
    ) -> Result<Restored> {
        let alone = self.alone(cancel)?;
        alone.settle(cancel, progress)?;
        let before = alone.look(cancel, progress)?.id;
        let head = alone.head();
        let plan = self.database.read("planning a restoration", |connection| {
            self.plan(connection, &head, &restore, before)
        })?;
        drop(head);
        let Plan { changes, conflicts, .. } = &plan;
        if restore.dry_run || plan.items().next().is_none() {
            let (changes, conflicts) = (changes.clone(), conflicts.clone());
            if !restore.dry_run && !conflicts.is_empty() && !restore.force {
                return Err(CheckpointError::Conflicts { conflicts });
            }
            let left = left(&plan);
            return Ok(Restored { before, changes, conflicts, left, ..Restored::default() });
        }
        if !conflicts.is_empty() && !restore.force {
            return Err(CheckpointError::Conflicts { conflicts: conflicts.clone() });
        }
        progress.begin();
        let restored = alone.carry_out(&restore, &plan, before, cancel, progress)?;
        if let (Some(call), Some(after)) = (call, restored.after) {
            self.extend(WindowKind::Call, call, before, after)?;
        }
        alone.bound()?;
        Ok(restored)
    }
}

impl Alone<'_> {
    fn carry_out(
        &self,
        restore: &Restore<'_>,
        plan: &Plan,
        before: i64,
        cancel: &AtomicBool,
        progress: &Progress,
    ) -> Result<Restored> {
        let store = self.store;
        let descent = Descent::new(store.directory.as_fd());
        let mut steps = Vec::new();
        for (number, item) in (0_i64..).zip(plan.items()) {
            let (above, _) = split(&item.path);
            let stage = nearest_directory(&descent, above)?;
            steps.push(Step { number, item, stage });
        }
        let id =
            store.database.transaction("recording a restoration", |connection| -> Tx<i64> {
                record(connection, restore.target, before, &steps)
            })?;
        let (touched, done) = (BTreeSet::new(), Vec::new());
        let refused_steps = BTreeMap::new();
        let mut work = Work { store, id, steps, descent, touched, done, refused: refused_steps };
        if let Err(error) = work.stage(cancel, progress) {
            work.unstage();
            store.database.transaction("giving a restoration up", |connection| -> Tx<()> {
                connection.execute("DELETE FROM checkpoint_steps WHERE restore = ?1", [id])?;
                connection.execute("DELETE FROM checkpoint_restores WHERE id = ?1", [id])?;
                Ok(())
            })?;
            return Err(error);
        }
        let mut restored = Restored { before, left: left(plan), ..Restored::default() };
        let mut failed = BTreeSet::new();
        for index in 0..work.steps.len() {
            let path = path_of(&work.steps[index].item.path);
            match work.publish(index) {
                Ok(true) => work.done.push(index),
                Ok(false) => {
                    failed.insert(path.clone());
                    let reason = ConflictReason::ChangedMeanwhile;
                    restored.conflicts.push(Conflict { path, reason });
                }
                Err(Unmade::Git(rule)) => {
                    failed.insert(path.clone());
                    restored.left.push((path, rule.reason().to_owned()));
                }
                Err(Unmade::System(errno)) => {
                    failed.insert(path.clone());
                    restored.left.push((path, std::io::Error::from(errno).to_string()));
                }
            }
            progress.add(1, 0);
        }
        work.unstage();
        work.set_directory_times(plan, restore);
        restored.conflicts.extend(plan.conflicts.iter().cloned());
        restored.changes =
            plan.changes.iter().filter(|change| !failed.contains(&change.path)).cloned().collect();
        restored.after = Some(self.record_result(&work, restore.target)?);
        Ok(restored)
    }

    /// Records what was done as a checkpoint.
    fn record_result(&self, work: &Work<'_>, target: i64) -> Result<i64> {
        let store = self.store;
        let mut head = self.head();
        let head = &mut *head;
        let none = HashSet::new();
        let label = format!("restored {target}");
        let written = store.database.transaction("recording a restoration", |connection| {
            head.refresh(connection)?;
            let take = Take { origin: Origin::Ours, label: Some(&label), reuse: false };
            let mut writing = Writing::new(connection, head, take, &none);
            let mut paths: BTreeSet<&[u8]> = work.touched.iter().map(|path| &path[..]).collect();
            for index in &work.done {
                let Step { item, .. } = &work.steps[*index];
                paths.remove(&item.path[..]);
                work.put(&mut writing, &item.path, item.new.as_ref())?;
            }
            for path in paths {
                let state = head.rows.get(path).map(|row| &row.state);
                if state.is_some_and(State::is_directory) {
                    work.put(&mut writing, path, state)?;
                }
            }
            let (after, _, changes) = writing.finish()?;
            finish(connection, work.id, after, |step| {
                Ok(if work.done.contains(&usize::try_from(step).unwrap_or(usize::MAX)) {
                    "new"
                } else {
                    "other"
                })
            })?;
            Tx::Ok((after, changes))
        });
        match written {
            Ok((after, changes)) => {
                changes.apply(head);
                Ok(after)
            }
            Err(error) => {
                head.generation = None;
                Err(error)
            }
        }
    }
}

/// What a plan leaves as it is because it would be git's, or is not kept.
fn left(plan: &Plan) -> Vec<(PathBuf, String)> {
    let refused = plan.refused.iter().map(|(path, rule)| (path.clone(), rule.reason().to_owned()));
    let unkept = plan.unkept.iter().map(|(path, reason)| (path.clone(), (*reason).to_owned()));
    refused.chain(unkept).collect()
}

/// Records the steps before the first is made.
fn record(connection: &Connection, target: i64, before: i64, steps: &[Step<'_>]) -> Tx<i64> {
    connection.execute(
        "INSERT INTO checkpoint_restores (at_ms, target, before, state)
         VALUES (?1, ?2, ?3, 'running')",
        (now() / 1_000_000, target, before),
    )?;
    let id = connection.last_insert_rowid();
    let mut insert = connection.prepare_cached(
        "INSERT INTO checkpoint_steps (restore, step, path, stage, old, new)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for Step { number, item, stage } in steps {
        let print = |state: &Option<State>| state.as_ref().map(|state| Print::of(state).0);
        insert.execute((id, number, &item.path[..], stage, print(&item.old), print(&item.new)))?;
    }
    Ok(id)
}

/// Records what became of each step.
pub(crate) fn finish(
    connection: &Connection,
    id: i64,
    after: i64,
    outcome: impl Fn(i64) -> Tx<&'static str>,
) -> Tx<()> {
    connection.execute(
        "UPDATE checkpoint_restores SET state = 'done', after = ?2 WHERE id = ?1",
        [id, after],
    )?;
    let steps: Vec<i64> = connection
        .prepare_cached("SELECT step FROM checkpoint_steps WHERE restore = ?1")?
        .query_map([id], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut update = connection.prepare_cached(
        "UPDATE checkpoint_steps SET outcome = ?3 WHERE restore = ?1 AND step = ?2",
    )?;
    for step in steps {
        update.execute((id, step, outcome(step)?))?;
    }
    Ok(())
}

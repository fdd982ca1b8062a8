//! What becomes of a restoration whose process was killed.
//!
//! Whoever has the store alone finds the steps that were recorded and not finished. For each, the names of
//! the step tell how far it had come. A new entry that was only prepared is removed. What has come out of
//! an exchange is removed if it is the old entry, and otherwise it goes back: somebody else made it. Each
//! file then is the old one, the new one or somebody else's, and the store says which.

use std::collections::{HashMap, HashSet};
use std::os::fd::AsFd;
use std::sync::atomic::AtomicBool;

use rustix::fs::Mode;
use rustix::io::Errno;
use toolwright_fs::GitBorder;

use crate::alone::Alone;
use crate::descent::Descent;
use crate::error::{Result, Tx};
use crate::restore::{finish, split};
use crate::swap::{self, Place, Print, StepNames, place};
use crate::{Checkpoints, Origin, Progress, Take};

struct LeftStep {
    number: i64,
    path: Vec<u8>,
    stage: Vec<u8>,
    old: Option<Print>,
    new: Option<Print>,
}

impl Alone<'_> {
    /// Settles what killed processes have left.
    pub(crate) fn settle(&self, cancel: &AtomicBool, progress: &Progress) -> Result<()> {
        let store = self.store;
        let left = store.database.read("looking for interrupted work", |connection| -> Tx<_> {
            let sql = "SELECT id FROM checkpoint_restores WHERE state = 'running'";
            let mut statement = connection.prepare_cached(sql)?;
            let found: Vec<i64> =
                statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
            Ok(found)
        })?;
        for id in left {
            self.settle_one(id, cancel, progress)?;
        }
        Ok(())
    }

    fn settle_one(&self, id: i64, cancel: &AtomicBool, progress: &Progress) -> Result<()> {
        let store = self.store;
        let steps = store.database.read("looking for interrupted work", |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT step, path, stage, old, new FROM checkpoint_steps
                 WHERE restore = ?1 ORDER BY step",
            )?;
            let steps = statement.query_map([id], |row| {
                let print = |at| row.get::<_, Option<Vec<u8>>>(at).map(|print| print.map(Print));
                let (number, path, stage) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok(LeftStep { number, path, stage, old: print(3)?, new: print(4)? })
            })?;
            Tx::Ok(steps.collect::<Result<Vec<_>, _>>()?)
        })?;
        // A path that becomes a directory, or stops being one, has two steps.
        let mut paths: HashMap<&[u8], Span<'_>> = HashMap::new();
        for step in &steps {
            let old = step.old.as_ref();
            let span = paths.entry(&step.path).or_insert(Span { old, new: None });
            span.new = step.new.as_ref();
        }
        let descent = Descent::new(store.directory.as_fd());
        let mut outcomes = HashMap::new();
        let mut ours = HashSet::new();
        for step in &steps {
            let span = paths[&step.path[..]];
            let outcome = match store.settle_step(&descent, id, step, span) {
                Ok(found) => span.outcome(found.as_ref()),
                Err(_) => "other",
            };
            if outcome == "new" {
                ours.insert(step.path.clone());
            }
            // The last step of a path decides for all of them.
            outcomes.insert(step.path.clone(), outcome);
        }
        let outcomes: HashMap<i64, &str> =
            steps.iter().map(|step| (step.number, outcomes[&step.path])).collect();
        let take =
            Take { origin: Origin::Others, label: Some("restoration interrupted"), reuse: false };
        let after = self.take(take, &ours, cancel, progress)?.id;
        store.database.transaction("settling interrupted work", |connection| -> Tx<()> {
            finish(connection, id, after, |step| {
                Ok(outcomes.get(&step).copied().unwrap_or("other"))
            })?;
            connection.execute(
                "UPDATE checkpoint_restores SET state = 'interrupted' WHERE id = ?1",
                [id],
            )?;
            Ok(())
        })
    }
}

/// What a path was before all of its steps, and what it should be after them.
#[derive(Debug, Clone, Copy)]
struct Span<'a> {
    old: Option<&'a Print>,
    new: Option<&'a Print>,
}

impl Span<'_> {
    fn outcome(&self, found: Option<&Print>) -> &'static str {
        if found == self.new {
            "new"
        } else if found == self.old {
            "old"
        } else {
            "other"
        }
    }
}

impl Checkpoints {
    /// Settles a step, and gives what is in place.
    fn settle_step(
        &self,
        descent: &Descent<'_>,
        restore: i64,
        step: &LeftStep,
        span: Span<'_>,
    ) -> Result<Option<Print>, Errno> {
        let StepNames { new, out } = self.step_names(restore, step.number);
        let (above, name) = split(&step.path);
        let stage = descent.open(&step.stage)?;
        let Some(parent) = descent.open(above)? else {
            if let Some(stage) = &stage {
                place(stage, &new).unlink()?;
            }
            return Ok(None);
        };
        let (target, out) = (place(&parent, name), place(&parent, &out));
        let _turn = GitBorder::Closed.turn([name]);
        let is_gits = parent.is_in_git || GitBorder::Closed.rule_of_new(&parent, name)?.is_some();
        put_back_left(step, target, out)?;
        // The old entry has been taken away already, and was of another kind: the new one follows.
        if step.new.as_ref() == span.new && step.old.is_none() && span.old.is_some() {
            let is_gone = !is_gits && target.print()?.is_none();
            match (&stage, span.new) {
                (_, Some(print)) if is_gone && print.is_directory() => {
                    let mode = Mode::RWXU | Mode::RGRP | Mode::XGRP | Mode::ROTH | Mode::XOTH;
                    rustix::fs::mkdirat(&parent, name, mode)?;
                    descent.forget(&step.path);
                }
                (Some(stage), Some(print)) if is_gone => {
                    let new = place(stage, &new);
                    if new.print()?.as_ref() == Some(print) {
                        swap::rename_unless_taken(new, target)?;
                    }
                }
                _ => {}
            }
        }
        if let Some(stage) = &stage {
            place(stage, &new).unlink()?;
        }
        target.print()
    }
}

/// Settles what has come out of an exchange, or was taken away.
fn put_back_left(step: &LeftStep, target: Place<'_>, out: Place<'_>) -> Result<(), Errno> {
    let Some(found) = out.print()? else { return Ok(()) };
    let at_target = target.print()?;
    let is_new = step.new.as_ref() == Some(&found);
    let is_old = step.old.as_ref() == Some(&found);
    let is_update = step.new.is_some();
    if is_new && step.new != step.old || is_old && (at_target.is_some() || !is_update) {
        return out.unlink();
    }
    if at_target.is_none() {
        // The old entry in the middle of a replacement in two steps, or somebody else's.
        return match swap::rename_unless_taken(out, target) {
            Err(Errno::EXIST) => out.unlink(),
            done => done,
        };
    }
    if is_update && at_target == step.new {
        return swap::put_back(out, target);
    }
    // Somebody has made a newer one.
    out.unlink()
}

//! What the next attempt of a task needs: that no other one runs, which effects it must not repeat, and
//! the recorded result of an identical call.

use std::collections::HashMap;

use toolwright_sqlite::{NamedLock, TryLock};

use crate::keys::{args_hash, task_hash};
use crate::{Call, Journal, JournalError, Status, TaskId};

impl Journal {
    /// Locks a task for one of its attempts. Fails with [`TaskLocked`](JournalError::TaskLocked) at once
    /// while another attempt runs, in whatever thread, process or container of this machine.
    pub fn lock_task(&self, task: &TaskId, attempt: i64) -> Result<NamedLock, JournalError> {
        let note = format!("attempt {attempt}, process {}", std::process::id());
        match self.database.try_lock(&format!("task-{}", task_hash(task)), &note)? {
            TryLock::Acquired(lock) => Ok(lock),
            TryLock::HeldBy(holder) => Err(JournalError::TaskLocked {
                path: self.path().to_owned(),
                task: format!(
                    "`{}` of run `{}`, iteration {}",
                    task.node_id, task.run_id, task.iteration
                ),
                holder,
            }),
        }
    }

    /// The side effects of attempts before `attempt` that are not idempotent, by attempt and
    /// sequence number. Left out: what was undone, and calls that were refused before they did
    /// anything. They are outlines: see [`Journal::list`].
    pub fn prior_effects(&self, task: &TaskId, attempt: i64) -> Result<Vec<Call>, JournalError> {
        let calls = self.outlines(
            "WHERE run_id = ?1 AND node_id = ?2 AND iteration = ?3 AND attempt < ?4
             ORDER BY attempt, seq",
            &(&task.run_id, &task.node_id, task.iteration, attempt),
        )?;
        Ok(calls.into_iter().filter(is_unsafe_to_repeat).collect())
    }

    /// The identical call of this task that succeeded last: with the same tool, the same hash of its
    /// arguments, and the same number among its attempt's calls with these. A call that was undone does
    /// not count. If its output is cut, it cannot be replayed.
    ///
    /// Some programs store neither hash nor number. Their rows are compared by their arguments and counted
    /// in their order.
    pub fn recorded(
        &self,
        task: &TaskId,
        tool: &str,
        hash: &str,
        ordinal: i64,
    ) -> Result<Option<Call>, JournalError> {
        let calls = self.outlines(
            "WHERE run_id = ?1 AND node_id = ?2 AND iteration = ?3 AND tool_name = ?4
                 AND (tw_args_hash = ?5 OR tw_args_hash IS NULL)
             ORDER BY attempt, seq",
            &(&task.run_id, &task.node_id, task.iteration, tool, hash),
        )?;
        let mut counts: HashMap<i64, i64> = HashMap::new();
        let mut last = None;
        for call in calls {
            if !call.acted || self.hash_of(&call)?.is_none_or(|own| own != hash) {
                continue;
            }
            let count = counts.entry(call.attempt).or_default();
            *count += 1;
            if call.ordinal.unwrap_or(*count) == ordinal
                && call.status == Status::Success
                && call.revert_status.is_none()
            {
                last = Some(call.row);
            }
        }
        last.map_or(Ok(None), |row| Ok(self.rows(&[row])?.pop()))
    }

    /// The hash of a call's arguments, which an outline may have left out.
    fn hash_of(&self, outline: &Call) -> Result<Option<String>, JournalError> {
        if outline.args_hash.is_some() {
            return Ok(outline.args_hash.clone());
        }
        let input = match &outline.input_json {
            Some(input) => Some(input.clone()),
            None => self.rows(&[outline.row])?.pop().and_then(|call| call.input_json),
        };
        Ok(input.map(|input| args_hash(&input)))
    }
}

/// A row of an older program does not say whether the tool has side effects, and counts.
fn is_unsafe_to_repeat(call: &Call) -> bool {
    let has_effect = call.side_effect.is_none_or(|effect| effect && call.idempotent != Some(true));
    has_effect && call.acted && call.revert_status.as_deref() != Some("reverted")
}

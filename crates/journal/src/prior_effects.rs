//! What earlier attempts of a task did, or may have done: a retry is warned of it.

use crate::{Call, Journal, JournalError, TaskId};

impl Journal {
    /// The side effects of attempts before `attempt` that are not idempotent, by attempt and
    /// sequence number. Left out: what was undone, and calls that were refused before they did
    /// anything. Outputs are left out, and arguments and errors that are long: see
    /// [`Journal::outline`].
    pub fn prior_effects(&self, task: &TaskId, attempt: i64) -> Result<Vec<Call>, JournalError> {
        let calls = self.outlines(
            "WHERE run_id = ?1 AND node_id = ?2 AND iteration = ?3 AND attempt < ?4
             ORDER BY attempt, seq",
            &(&task.run_id, &task.node_id, task.iteration, attempt),
        )?;
        Ok(calls.into_iter().filter(is_unsafe_to_repeat).collect())
    }
}

/// A row of an older program does not say whether the tool has side effects, and counts.
fn is_unsafe_to_repeat(call: &Call) -> bool {
    let has_effect = call.side_effect.is_none_or(|effect| effect && call.idempotent != Some(true));
    has_effect && call.acted && call.revert_status.as_deref() != Some("reverted")
}

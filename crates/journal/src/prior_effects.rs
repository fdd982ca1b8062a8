//! What earlier attempts of a task did, or may have done: what a retry is warned of.

use crate::{Call, Journal, JournalError, Status, TaskId};

/// A call of an earlier attempt that must not be repeated blindly.
#[derive(Debug, Clone, PartialEq)]
pub struct PriorEffect {
    /// The call.
    pub call: Call,
    /// Whether it is known to have done what it should.
    pub certainty: Certainty,
    /// False for a row of an older program, which does not tell whether the tool has side effects:
    /// who knows the tool by its name decides whether the row counts.
    pub declared: bool,
}

/// What is known of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// It was performed.
    Performed,
    /// It was performed, in part or in full, or it was not: the call failed, was interrupted, or
    /// still runs.
    Uncertain,
}

impl Journal {
    /// The side effects of attempts before `attempt` that are not idempotent, by attempt and
    /// sequence number. Left out: what was undone, and calls that were refused before they did
    /// anything. Outputs are left out, and arguments and errors that are long: see
    /// [`Journal::outline`].
    pub fn prior_effects(
        &self,
        task: &TaskId,
        attempt: i64,
    ) -> Result<Vec<PriorEffect>, JournalError> {
        let calls = self.outlines(
            "WHERE run_id = ?1 AND node_id = ?2 AND iteration = ?3 AND attempt < ?4
             ORDER BY attempt, seq",
            &(&task.run_id, &task.node_id, task.iteration, attempt),
        )?;
        Ok(calls.into_iter().filter_map(effect).collect())
    }
}

fn effect(call: Call) -> Option<PriorEffect> {
    let unsafe_to_repeat = match (call.side_effect, call.idempotent) {
        (Some(effect), idempotent) => effect && idempotent != Some(true),
        (None, _) => true,
    };
    let counts =
        unsafe_to_repeat && call.acted && call.revert_status.as_deref() != Some("reverted");
    counts.then(|| PriorEffect {
        certainty: match call.status {
            Status::Success => Certainty::Performed,
            Status::Started | Status::Error | Status::Unknown => Certainty::Uncertain,
        },
        declared: call.side_effect.is_some(),
        call,
    })
}

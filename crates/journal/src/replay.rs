//! Replay: the recorded result of an earlier call.

use std::collections::HashMap;

use crate::keys::args_hash;
use crate::{Call, Journal, JournalError, Status, TaskId};

/// The result of an identical call.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// The call, from the latest attempt that finished it.
    pub call: Call,
    /// Whether the row has all of its output. A cut output cannot be replayed.
    pub is_whole: bool,
}

impl Journal {
    /// The identical call of this task that succeeded last: with the same tool, the same hash of its
    /// arguments, and the same number among its attempt's calls with these. A call that was undone does
    /// not count.
    ///
    /// Some programs store neither hash nor number. Their rows are compared by their arguments and counted
    /// in their order.
    pub fn recorded(
        &self,
        task: &TaskId,
        tool: &str,
        hash: &str,
        ordinal: i64,
    ) -> Result<Option<Recorded>, JournalError> {
        let calls = self.outlines(
            "WHERE run_id = ?1 AND node_id = ?2 AND iteration = ?3 AND tool_name = ?4
                 AND (tw_args_hash = ?5 OR tw_args_hash IS NULL)
             ORDER BY attempt, seq",
            &(&task.run_id, &task.node_id, task.iteration, tool, hash),
        )?;
        let mut counts: HashMap<i64, i64> = HashMap::new();
        let mut found = None;
        for call in calls {
            let call = self.whole_if_needed(call)?;
            let same = match (&call.args_hash, &call.input_json) {
                (Some(own), _) => own == hash,
                (None, Some(input)) => args_hash(input) == hash,
                (None, None) => false,
            };
            if !same || !call.acted {
                continue;
            }
            let count = counts.entry(call.attempt).or_default();
            *count += 1;
            if call.ordinal.unwrap_or(*count) == ordinal
                && call.status == Status::Success
                && call.revert_status.is_none()
            {
                found = Some(call);
            }
        }
        let found = match found {
            Some(call) => self.rows(&[call.row])?.pop(),
            None => None,
        };
        Ok(found.map(|call| Recorded { is_whole: !call.is_cut(), call }))
    }
}

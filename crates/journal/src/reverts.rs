//! Undoing calls: each at most once, over all processes.

use rusqlite::named_params;
use toolwright_sqlite::clock::now_ms;

use crate::columns::TABLE;
use crate::queries::calls_of;
use crate::{Call, Journal, JournalError, Status};

/// The answer to a claim.
#[derive(Debug, Clone, PartialEq)]
pub enum Claim {
    /// The caller alone may undo it: the row says `reverting`.
    Won(Box<Call>),
    /// It was claimed before: the row's `revert_status`.
    Taken(String),
    /// There is nothing to undo: the call still runs, did nothing, or cannot be undone.
    Nothing(&'static str),
}

impl Journal {
    /// Claims a call, to undo it. Of any number of claims one wins, ever: an undoing that failed or
    /// was interrupted is not begun again.
    pub fn claim_revert(&self, row: i64) -> Result<Claim, JournalError> {
        let owner = self.owner()?;
        let select = format!("SELECT {} FROM {TABLE} WHERE rowid = ?1", self.columns);
        let claim = self.transaction("claiming", |connection| {
            let Some(mut call) = calls_of(connection, &select, (row,))?.pop() else {
                return Ok(None);
            };
            if let Some(status) = call.revert_status {
                return Ok(Some(Claim::Taken(status)));
            }
            if let Some(obstacle) = obstacle(&call) {
                return Ok(Some(Claim::Nothing(obstacle)));
            }
            connection.execute(
                "UPDATE _smithers_tool_calls SET revert_status = 'reverting',
                     reverted_at_ms = NULL, revert_error_json = NULL, tw_revert_owner = ?2
                 WHERE rowid = ?1",
                (row, owner),
            )?;
            // So that recovery looks far enough back.
            connection.execute(
                "UPDATE _toolwright_owners SET rows_after = min(rows_after, ?1 - 1) WHERE id = ?2",
                (row, owner),
            )?;
            call.revert_status = Some("reverting".to_owned());
            Ok(Some(Claim::Won(Box::new(call))))
        })?;
        if matches!(claim, Some(Claim::Won(_))) {
            self.add_open_calls(1);
        }
        claim.ok_or_else(|| JournalError::Missing { path: self.path().to_owned(), row })
    }

    /// Records how undoing ended: `reverted`, or `revert-failed` with the error as JSON. False when
    /// the row is not `reverting` any more, because the call itself ended meanwhile and made it
    /// stale; the row then stays as it is.
    pub fn finish_revert(&self, row: i64, result: Result<(), &str>) -> Result<bool, JournalError> {
        let (status, at, error) = match result {
            Ok(()) => ("reverted", Some(now_ms()), None),
            Err(error) => ("revert-failed", None, Some(error)),
        };
        let changed = self.transaction("recording", |connection| {
            connection.execute(
                "UPDATE _smithers_tool_calls SET revert_status = :status, reverted_at_ms = :at,
                     revert_error_json = :error
                 WHERE rowid = :row AND revert_status = 'reverting'",
                named_params! { ":status": status, ":at": at, ":error": error, ":row": row },
            )
        })?;
        self.add_open_calls(-1);
        Ok(changed > 0)
    }
}

/// Why a call cannot be undone.
fn obstacle(call: &Call) -> Option<&'static str> {
    if call.has_revert != Some(true) {
        Some("its tool cannot undo it")
    } else if call.status == Status::Started {
        Some("it has no outcome yet")
    } else if !call.acted {
        Some("it was refused before it did anything")
    } else {
        None
    }
}

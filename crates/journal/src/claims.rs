//! Calls with an identity from outside: each is made once, however many processes are asked to make it.
//!
//! A durable engine executes a single call again, in a process that knows nothing of the first time. The engine's id
//! of the call names its row, and the row says what became of it.

use rusqlite::{Connection, OptionalExtension, named_params};
use toolwright_process::Identity;

use crate::call::{CallRef, Intent, Status};
use crate::columns::{TABLE, integer_at};
use crate::queries::calls_of;
use crate::{Call, Journal, JournalError, owner, statements};

/// The answer to a claim.
#[derive(Debug, Clone, PartialEq)]
pub enum CallClaim {
    /// The caller alone may make the call: the row says `started`.
    Claimed(CallRef),
    /// It was made: it succeeded, or failed after it acted.
    Recorded(Box<Call>),
    /// It began, and nobody is left who knows how it ended.
    Unknown(Box<Call>),
    /// It is being made, by this process or by another one.
    Running(Box<Call>),
}

/// How a call is claimed.
#[derive(Debug, Clone, Copy)]
pub struct ClaimHow<'c> {
    /// The identity of the call in its task.
    pub call_id: &'c str,
    /// Whether an unknown call may be made again.
    pub repeat: bool,
    /// The error of a call whose process has ended, as JSON.
    pub error_json: &'c str,
}

impl Journal {
    /// Claims a call by its id. The number of the call within its attempt is assigned here. A call that was refused
    /// before it did anything is claimed again.
    ///
    /// Fails with [`Differs`](JournalError::Differs) when the id belongs to a call with another tool or other arguments.
    pub fn claim_call(
        &self,
        mut intent: Intent,
        how: ClaimHow<'_>,
    ) -> Result<CallClaim, JournalError> {
        let owner = self.owner()?;
        let select = format!(
            "SELECT {} FROM {TABLE} WHERE run_id = ?1 AND node_id = ?2 AND iteration = ?3
                 AND tw_call_id = ?4",
            self.columns
        );
        let task = intent.task.clone();
        let place = (&task.run_id, &task.node_id, task.iteration, how.call_id);
        let claim = self.transaction("claiming a call", |connection| {
            match calls_of(connection, &select, place)?.pop() {
                None => self.claim_new(connection, &mut intent, owner, how.call_id),
                Some(call) if differs(&call, &intent) => Ok(Err(JournalError::Differs {
                    path: self.path().to_owned(),
                    call: format!(
                        "`{}` is a call of {}, not this call of {}",
                        how.call_id, call.tool_name, intent.tool_name
                    ),
                })),
                Some(call) => self.claim_again(connection, call, &intent, owner, how).map(Ok),
            }
        })??;
        if matches!(claim, CallClaim::Claimed(_)) {
            self.add_open_calls(1);
        }
        Ok(claim)
    }

    fn claim_new(
        &self,
        connection: &Connection,
        intent: &mut Intent,
        owner: Option<i64>,
        call_id: &str,
    ) -> rusqlite::Result<Result<CallClaim, JournalError>> {
        let task = &intent.task;
        intent.seq = connection
            .prepare_cached(
                "SELECT coalesce(max(seq), 0) + 1 FROM _smithers_tool_calls
                 WHERE run_id = ?1 AND node_id = ?2 AND iteration = ?3 AND attempt = ?4",
            )?
            .query_row((&task.run_id, &task.node_id, task.iteration, intent.attempt), |row| {
                row.get(0)
            })?;
        let row = match statements::insert(connection, self.path(), intent, owner, None)? {
            Ok(row) => row,
            Err(error) => return Ok(Err(error)),
        };
        // Not a column of every insert, which rows of other calls would pay for.
        connection
            .prepare_cached("UPDATE _smithers_tool_calls SET tw_call_id = ?2 WHERE rowid = ?1")?
            .execute((row, call_id))?;
        let Intent { attempt, seq, started_at_ms, .. } = *intent;
        Ok(Ok(CallClaim::Claimed(CallRef { row, attempt, seq, started_at_ms })))
    }

    fn claim_again(
        &self,
        connection: &Connection,
        mut call: Call,
        intent: &Intent,
        owner: Option<i64>,
        how: ClaimHow<'_>,
    ) -> rusqlite::Result<CallClaim> {
        match call.status {
            Status::Success => return Ok(CallClaim::Recorded(Box::new(call))),
            Status::Error if call.acted => return Ok(CallClaim::Recorded(Box::new(call))),
            Status::Started if self.is_written_by_the_living(connection, call.row, owner)? => {
                return Ok(CallClaim::Running(Box::new(call)));
            }
            Status::Started | Status::Unknown if !how.repeat => {
                if call.status == Status::Started {
                    connection.execute(
                        "UPDATE _smithers_tool_calls SET status = 'unknown', error_json = ?2
                         WHERE rowid = ?1",
                        (call.row, how.error_json),
                    )?;
                    call.status = Status::Unknown;
                    "unknown".clone_into(&mut call.status_text);
                    call.error_json = Some(how.error_json.to_owned());
                }
                return Ok(CallClaim::Unknown(Box::new(call)));
            }
            // It was refused before it did anything, or may be made again.
            Status::Error | Status::Started | Status::Unknown => {}
        }
        // A later start: the outcome of the earlier one, if it still comes, does not fit the row any more.
        let started_at_ms = intent.started_at_ms.max(call.started_at_ms.saturating_add(1));
        connection.execute(
            "UPDATE _smithers_tool_calls SET status = 'started', started_at_ms = :start,
                 finished_at_ms = NULL, output_json = NULL, error_json = NULL, tw_output_bytes = NULL,
                 tw_acted = NULL, tw_owner = :owner, accepts_idempotency_key = :key
             WHERE rowid = :row",
            named_params! {
                ":start": started_at_ms, ":owner": owner, ":row": call.row,
                ":key": intent.accepts_idempotency_key,
            },
        )?;
        // So that recovery looks far enough back.
        connection.execute(
            "UPDATE _toolwright_owners SET rows_after = min(rows_after, ?1 - 1) WHERE id = ?2",
            (call.row, owner),
        )?;
        let Call { row, attempt, seq, .. } = call;
        Ok(CallClaim::Claimed(CallRef { row, attempt, seq, started_at_ms }))
    }

    /// Whether the writer of a row may still record its outcome. One that cannot be judged from here counts as alive.
    fn is_written_by_the_living(
        &self,
        connection: &Connection,
        row: i64,
        this: Option<i64>,
    ) -> rusqlite::Result<bool> {
        let Some(locks) = self.database.locks() else { return Ok(true) };
        let writer: Option<i64> = connection
            .prepare_cached("SELECT tw_owner FROM _smithers_tool_calls WHERE rowid = ?1")?
            .query_row((row,), |row| integer_at(row, 0))
            .optional()?
            .flatten();
        if writer == this {
            return Ok(true);
        }
        let here = Identity::current();
        let owners = owner::open_owners(connection)?;
        let writer = owners.iter().find(|owner| Some(owner.id) == writer);
        Ok(writer.is_some_and(|owner| owner.is_alive(&here, locks) != Some(false)))
    }
}

/// Whether the row is that of a call with another tool or other arguments.
fn differs(call: &Call, intent: &Intent) -> bool {
    let other_arguments = match (&call.args_hash, &intent.args_hash) {
        (Some(one), Some(other)) => one != other,
        _ => false,
    };
    call.tool_name != intent.tool_name || other_arguments
}

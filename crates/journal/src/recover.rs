//! Calls whose process died without telling how they ended.

use rusqlite::named_params;
use toolwright_sqlite::lock_file;

use crate::owner::{self, Verdict};
use crate::{Journal, JournalError};

/// What [`Journal::recover`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Rows `started` that are `unknown` now, as nobody is left who could tell.
    pub calls: Vec<i64>,
    /// Rows `reverting` that are `revert-failed` now.
    pub reverts: Vec<i64>,
    /// How many journals are open to write now, this one aside.
    pub alive: usize,
    /// How many owners of rows cannot be judged from here, and were left alone: those of other
    /// machines, and of other containers whose locks are not visible.
    pub undecided: usize,
}

/// What is put into `error_json`.
const ENDED: &str = r#"{"name":"ToolError","code":"PROCESS_DIED","message":"The process that made this call ended before it recorded the outcome; the call may have done all, a part or nothing. [PROCESS_DIED] Look at what it should have changed before it is made again."}"#;

impl Journal {
    /// Marks as `unknown` what a process left `started` that is gone. A row is touched only when
    /// its owner is known to be gone: the owner's lock is free, or (where the lock cannot be seen)
    /// its process or its boot has ended. `finished_at_ms` stays empty, since nobody knows.
    ///
    /// May be called at any time, by any number of processes.
    pub fn recover(&self) -> Result<Recovered, JournalError> {
        let writer = self.writer()?;
        let Some(locks) = self.locks() else {
            // What is in memory is gone with its process.
            return Ok(Recovered::default());
        };
        let this = self.owner_if_any();
        let mut gone = Vec::new();
        let mut recovered = Recovered::default();
        writer.transaction("recovering", |connection| {
            gone.clear();
            recovered = Recovered::default();
            for owner in owner::open_owners(connection)? {
                if Some(owner.id) == this {
                    continue;
                }
                match owner.verdict(locks) {
                    Verdict::Gone => {}
                    Verdict::Alive => {
                        recovered.alive += 1;
                        continue;
                    }
                    Verdict::CannotBeTold => {
                        recovered.undecided += 1;
                        continue;
                    }
                }
                let mut calls = connection.prepare_cached(
                    "UPDATE _smithers_tool_calls SET status = 'unknown', error_json = :error
                     WHERE rowid > :after AND tw_owner = :owner AND status = 'started'
                     RETURNING rowid",
                )?;
                let parameters =
                    named_params! { ":error": ENDED, ":after": owner.rows_after, ":owner": owner.id };
                for row in calls.query_map(parameters, |row| row.get(0))? {
                    recovered.calls.push(row?);
                }
                let mut reverts = connection.prepare_cached(
                    "UPDATE _smithers_tool_calls SET revert_status = 'revert-failed',
                         revert_error_json = :error
                     WHERE rowid > :after AND tw_revert_owner = :owner
                         AND revert_status = 'reverting'
                     RETURNING rowid",
                )?;
                for row in reverts.query_map(parameters, |row| row.get(0))? {
                    recovered.reverts.push(row?);
                }
                connection.execute(
                    "UPDATE _toolwright_owners SET ended_at_ms = ?1 WHERE id = ?2",
                    (crate::journal::now_ms(), owner.id),
                )?;
                gone.push(owner.lock_name);
            }
            Ok(())
        })?;
        for name in gone {
            // A verdict over a lock was passed on a name of ours, and only such a file is removed.
            if owner::is_lock_name(&name) {
                lock_file::remove(&locks.join(name));
            }
        }
        // Those of tasks and of journals that were killed: nobody else looks for them.
        lock_file::sweep(locks, |name| {
            ["task-", "open-"].iter().any(|kind| name.starts_with(kind))
        });
        recovered.calls.sort_unstable();
        recovered.reverts.sort_unstable();
        Ok(recovered)
    }
}

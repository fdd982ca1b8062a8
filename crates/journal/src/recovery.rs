//! Recovery: calls whose process died before it recorded an outcome.

use rusqlite::named_params;
use toolwright_process::Identity;
use toolwright_sqlite::clock::now_ms;
use toolwright_sqlite::lock_file;

use crate::{Journal, JournalError, owner};

/// What [`Journal::recover`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Rows that were `started` and are `unknown` now: no process is left that knows the outcome.
    pub calls: Vec<i64>,
    /// Rows that were `reverting` and are `revert-failed` now.
    pub reverts: Vec<i64>,
    /// The number of other journals that are open for writing.
    pub alive: usize,
    /// The number of owners that cannot be judged from here, whose rows were left alone: those of other
    /// machines, and of other containers whose locks are not visible.
    pub undecided: usize,
}

impl Journal {
    /// Marks as `unknown` the rows that dead processes left `started`. A row is touched only when its
    /// owner is known to be gone: the owner's lock is free, or (where the lock cannot be seen) its process
    /// or its boot has ended. `finished_at_ms` stays empty, since the time is unknown; `error_json` is
    /// recorded as the error.
    ///
    /// May be called at any time, by any number of processes.
    pub fn recover(&self, error_json: &str) -> Result<Recovered, JournalError> {
        self.database.check_writable()?;
        let Some(locks) = self.database.locks() else {
            // A database in memory is gone with its process.
            return Ok(Recovered::default());
        };
        let (this, here) = (self.owner_if_any(), Identity::current());
        let mut gone = Vec::new();
        let mut recovered = Recovered::default();
        self.transaction("recovering", |connection| {
            gone.clear();
            recovered = Recovered::default();
            for owner in owner::open_owners(connection)? {
                if Some(owner.id) == this {
                    continue;
                }
                match owner.is_alive(&here, locks) {
                    Some(false) => {}
                    Some(true) => {
                        recovered.alive += 1;
                        continue;
                    }
                    None => {
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
                    named_params! { ":error": error_json, ":after": owner.rows_after, ":owner": owner.id };
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
                    (now_ms(), owner.id),
                )?;
                gone.push(owner.lock_name);
            }
            Ok(())
        })?;
        for name in gone {
            // Only files with a name of this crate are removed.
            if owner::is_lock_name(&name) {
                lock_file::remove(&locks.join(name));
            }
        }
        // The locks of killed tasks and journals, which nothing else removes.
        lock_file::sweep(locks, |name| {
            ["task-", "open-"].iter().any(|kind| name.starts_with(kind))
        });
        recovered.calls.sort_unstable();
        recovered.reverts.sort_unstable();
        Ok(recovered)
    }
}

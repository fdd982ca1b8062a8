//! Recovery: calls whose process died before it recorded an outcome.

use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, Row, params};
use toolwright_process::Identity;
use toolwright_sqlite::clock::now_ms;
use toolwright_sqlite::lock_file;

use crate::columns::TABLE;
use crate::owner::Owner;
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

/// An owner that is gone, and the keys of the rows that it left open. They are keys and not numbers of rows, which
/// change when the file is vacuumed.
struct Left {
    owner: Owner,
    calls: Vec<Key>,
    reverts: Vec<Key>,
}

/// The columns of the table's key, whatever another program has put there.
type Key = [Value; 5];

impl Journal {
    /// Marks as `unknown` the rows that dead processes left `started`. A row is touched only when its
    /// owner is known to be gone: the owner's lock is free, or (where the lock cannot be seen) its process
    /// or its boot has ended. `finished_at_ms` stays empty, since the time is unknown; `error_json` is
    /// recorded as the error.
    ///
    /// May be called at any time, by any number of processes. Rows are looked for without holding up those who
    /// write: no index leads to open ones, since each call would pay for it.
    pub fn recover(&self, error_json: &str) -> Result<Recovered, JournalError> {
        self.database.check_writable()?;
        let Some(locks) = self.database.locks() else {
            // A database in memory is gone with its process.
            return Ok(Recovered::default());
        };
        let mut recovered = Recovered::default();
        let gone = self.judge_owners(locks, &mut recovered)?;
        if !gone.is_empty() {
            // These rows are read after their owner was seen to be gone, so that none is missing.
            let left: Vec<Left> = self.read(LOOKING, |connection| {
                gone.iter().map(|owner| left_by(owner, connection)).collect::<rusqlite::Result<_>>()
            })?;
            self.transaction("recovering", |connection| {
                (recovered.calls, recovered.reverts) = Default::default();
                left.iter().try_for_each(|left| mark(left, error_json, connection, &mut recovered))
            })?;
            for Left { owner, .. } in left {
                // Only files with a name of this crate are removed.
                if owner::is_lock_name(&owner.lock_name) {
                    lock_file::remove(&locks.join(owner.lock_name));
                }
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

    /// The numbers of rows that are `started` while their process is known to be gone. For a reader: nothing is marked.
    pub fn left_open(&self) -> Result<Vec<i64>, JournalError> {
        let Some(locks) = self.database.locks_of_writers() else { return Ok(Vec::new()) };
        // The tables of an engine alone have no owners.
        if !self.read(LOOKING, has_owners)? {
            return Ok(Vec::new());
        }
        let gone = self.judge_owners(&locks, &mut Recovered::default())?;
        self.read(LOOKING, |connection| {
            let mut left = Vec::new();
            for owner in &gone {
                let mut rows = connection.prepare_cached(&format!(
                    "SELECT rowid FROM {TABLE} WHERE rowid > ?1 AND tw_owner = ?2 AND status = 'started'"
                ))?;
                for row in rows.query_map([owner.rows_after, owner.id], |row| row.get(0))? {
                    left.push(row?);
                }
            }
            left.sort_unstable();
            Ok(left)
        })
    }

    /// The owners that are gone. The others are counted.
    fn judge_owners(
        &self,
        locks: &Path,
        recovered: &mut Recovered,
    ) -> Result<Vec<Owner>, JournalError> {
        let (this, here) = (self.owner_if_any(), Identity::current());
        let mut all = self.read(LOOKING, owner::open_owners)?;
        all.retain(|owner| Some(owner.id) != this);
        let mut gone = Vec::new();
        for owner in all {
            match owner.is_alive(&here, locks) {
                Some(false) => gone.push(owner),
                Some(true) => recovered.alive += 1,
                None => recovered.undecided += 1,
            }
        }
        Ok(gone)
    }
}

const LOOKING: &str = "looking for calls of ended processes";

fn has_owners(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row(
        "SELECT EXISTS (SELECT 1 FROM pragma_table_info('_toolwright_owners') WHERE name = 'rows_after')
             AND EXISTS (SELECT 1 FROM pragma_table_info(?1) WHERE name = 'tw_owner')",
        [TABLE],
        |row| row.get(0),
    )
}

fn left_by(owner: &Owner, connection: &Connection) -> rusqlite::Result<Left> {
    let open = |state: &str| {
        let mut rows = connection.prepare_cached(&format!(
            "SELECT run_id, node_id, iteration, attempt, seq FROM {TABLE} WHERE rowid > ?1 AND {state}"
        ))?;
        let key = |row: &Row<'_>| -> rusqlite::Result<Key> {
            Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?])
        };
        rows.query_map([owner.rows_after, owner.id], key)?.collect::<rusqlite::Result<Vec<Key>>>()
    };
    let calls = open("tw_owner = ?2 AND status = 'started'")?;
    let reverts = open("tw_revert_owner = ?2 AND revert_status = 'reverting'")?;
    Ok(Left { owner: owner.clone(), calls, reverts })
}

/// Another process may have done so meanwhile.
fn mark(
    Left { owner, calls, reverts }: &Left,
    error_json: &str,
    connection: &Connection,
    recovered: &mut Recovered,
) -> rusqlite::Result<()> {
    let marked = |keys: &[Key], change: &str, state: &str, rows: &mut Vec<i64>| {
        let mut update = connection.prepare_cached(&format!(
            "UPDATE {TABLE} SET {change}
             WHERE run_id = ?3 AND node_id = ?4 AND iteration = ?5 AND attempt = ?6 AND seq = ?7 AND {state}
             RETURNING rowid"
        ))?;
        for [run, node, iteration, attempt, seq] in keys {
            let parameters = params![error_json, owner.id, run, node, iteration, attempt, seq];
            for row in update.query_map(parameters, |row| row.get(0))? {
                rows.push(row?);
            }
        }
        Ok::<_, rusqlite::Error>(())
    };
    marked(
        calls,
        "status = 'unknown', error_json = ?1",
        "tw_owner = ?2 AND status = 'started'",
        &mut recovered.calls,
    )?;
    marked(
        reverts,
        "revert_status = 'revert-failed', revert_error_json = ?1",
        "tw_revert_owner = ?2 AND revert_status = 'reverting'",
        &mut recovered.reverts,
    )?;
    let ended =
        "UPDATE _toolwright_owners SET ended_at_ms = ?1 WHERE id = ?2 AND ended_at_ms IS NULL";
    connection.execute(ended, (now_ms(), owner.id))?;
    Ok(())
}

//! The store stays within its limits: the oldest checkpoints go, and what only they needed.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rusqlite::Connection;

use crate::alone::Alone;
use crate::error::{Result, Tx, abort};
use crate::look::now;
use crate::{CheckpointError, Checkpoints, Progress};

/// What the store may keep. What is not given is as in the options.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GcLimits {
    /// The most bytes.
    pub max_bytes: Option<u64>,
    /// The greatest age of a checkpoint.
    pub max_age: Option<Duration>,
    /// The most checkpoints.
    pub max_checkpoints: Option<u64>,
}

/// What was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Collected {
    /// The number of checkpoints.
    pub removed: u64,
    /// The checkpoints that are left.
    pub left: u64,
    /// The bytes of the store before.
    pub bytes_before: u64,
    /// The bytes of the store now.
    pub bytes: u64,
}

/// When there are too many bytes, this share of the checkpoints goes at a time.
const SHARE: u64 = 8;
/// So much of the limit is used afterwards at most, so that not every checkpoint is followed by another
/// collection.
const FILLED: (u64, u64) = (9, 10);
/// Pages given back to the file system in one transaction.
const VACUUM_PAGES: u32 = 2000;

impl Checkpoints {
    /// Removes checkpoints beyond the limits, oldest first. The newest one stays. A kill at any moment
    /// leaves a whole store.
    pub fn gc(
        &self,
        limits: GcLimits,
        cancel: &AtomicBool,
        progress: &Progress,
    ) -> Result<Collected> {
        let alone = self.alone(cancel)?;
        alone.settle(cancel, progress)?;
        progress.begin();
        alone.collect(limits, progress)
    }

    /// The bytes of the store.
    pub fn bytes(&self) -> Result<u64> {
        self.database.read("measuring the store", used_bytes)
    }

    /// Fails within a transaction after which the newest checkpoint alone would be too large.
    pub(crate) fn check_size(&self, connection: &Connection) -> Tx<()> {
        let limit = self.options.max_bytes;
        if used_bytes(connection)? <= limit {
            return Ok(());
        }
        let needed = connection.query_row(
            "SELECT coalesce(sum(coalesce(length(c.data), 0) + coalesce((SELECT sum(length(k.data))
                 FROM checkpoint_chunks k WHERE c.coding = 2 AND k.content = c.id), 0)), 0)
             FROM checkpoint_contents c WHERE c.id IN
                 (SELECT content FROM checkpoint_versions WHERE last IS NULL)",
            [],
            |row| row.get::<_, i64>(0),
        )?;
        let needed = u64::try_from(needed).unwrap_or(0);
        if needed > limit { abort(CheckpointError::TooLarge { needed, limit }) } else { Ok(()) }
    }
}

impl Alone<'_> {
    /// Collects if the store is beyond the limits of its options.
    pub(crate) fn bound(&self) -> Result<()> {
        let options = &self.store.options;
        let oldest = now() / 1_000_000 - milliseconds(options.max_age);
        let (bytes, is_old) = self.store.database.read("measuring the store", |connection| {
            let sql = "SELECT EXISTS (SELECT 1 FROM checkpoints WHERE at_ms < ?1 LIMIT 1)
                           AND (SELECT count(*) FROM (SELECT 1 FROM checkpoints LIMIT 2)) > 1";
            let mut statement = connection.prepare_cached(sql)?;
            let is_old = statement.query_row([oldest], |row| row.get::<_, bool>(0))?;
            Tx::Ok((used_bytes(connection)?, is_old))
        })?;
        if bytes > options.max_bytes || is_old {
            self.collect(GcLimits::default(), &Progress::default())?;
        }
        Ok(())
    }

    fn collect(&self, limits: GcLimits, progress: &Progress) -> Result<Collected> {
        let store = self.store;
        let database = &store.database;
        let bytes_before = store.bytes()?;
        let max_bytes = limits.max_bytes.unwrap_or(store.options.max_bytes);
        let max_age = limits.max_age.unwrap_or(store.options.max_age);
        let oldest = now() / 1_000_000 - milliseconds(max_age);
        let most = limits.max_checkpoints.map(|most| i64::try_from(most).unwrap_or(i64::MAX));
        let mut removed =
            database.transaction("removing checkpoints", |connection| -> Tx<usize> {
                let mut removed = connection.execute(
                    "DELETE FROM checkpoints
                 WHERE at_ms < ?1 AND id < (SELECT max(id) FROM checkpoints)",
                    [oldest],
                )?;
                if let Some(most) = most {
                    removed += connection.execute(
                        "DELETE FROM checkpoints WHERE id NOT IN
                         (SELECT id FROM checkpoints ORDER BY id DESC LIMIT max(?1, 1))",
                        [most],
                    )?;
                }
                prune(connection)?;
                Ok(removed)
            })?;
        let goal =
            if store.bytes()? > max_bytes { max_bytes / FILLED.1 * FILLED.0 } else { max_bytes };
        while store.bytes()? > goal {
            let gone = database.transaction("removing checkpoints", |connection| -> Tx<usize> {
                let count =
                    connection.query_row("SELECT count(*) FROM checkpoints", [], |row| {
                        row.get::<_, u64>(0)
                    })?;
                let gone = connection.execute(
                    "DELETE FROM checkpoints WHERE id IN (SELECT id FROM checkpoints
                         WHERE id < (SELECT max(id) FROM checkpoints) ORDER BY id LIMIT ?1)",
                    [(count / SHARE).max(1)],
                )?;
                prune(connection)?;
                Ok(gone)
            })?;
            removed += gone;
            progress.add(gone as u64, 0);
            if gone == 0 {
                break;
            }
        }
        self.give_back(progress)?;
        let left = database.read("counting checkpoints", |connection| -> Tx<u64> {
            Ok(connection.query_row("SELECT count(*) FROM checkpoints", [], |row| row.get(0))?)
        })?;
        Ok(Collected { removed: removed as u64, left, bytes_before, bytes: store.bytes()? })
    }

    /// Gives the pages that nothing needs any more back to the file system, some at a time.
    fn give_back(&self, progress: &Progress) -> Result<()> {
        loop {
            let free = |connection: &Connection| {
                connection.query_row("PRAGMA freelist_count", [], |row| row.get::<_, u64>(0))
            };
            let writer = self.store.database.writer()?;
            let before = writer.execute("giving space back", free)?;
            if before == 0 {
                return Ok(());
            }
            writer.execute("giving space back", |connection| {
                let sql = format!("PRAGMA incremental_vacuum({VACUUM_PAGES})");
                let mut statement = connection.prepare(&sql)?;
                let mut rows = statement.query([])?;
                while rows.next()?.is_some() {}
                Ok(())
            })?;
            let after = writer.execute("giving space back", free)?;
            progress.add(0, (before - after.min(before)) * 4096);
            if after >= before {
                return Ok(());
            }
        }
    }
}

fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX / 2).min(i64::MAX / 2)
}

/// Removes what no checkpoint needs.
fn prune(connection: &Connection) -> Tx<()> {
    connection.execute_batch(
        "DELETE FROM checkpoint_versions WHERE last IS NOT NULL AND NOT EXISTS
             (SELECT 1 FROM checkpoints c WHERE c.id >= first AND c.id < last);
         DELETE FROM checkpoint_contents WHERE NOT EXISTS
             (SELECT 1 FROM checkpoint_versions v WHERE v.content = checkpoint_contents.id);
         DELETE FROM checkpoint_chunks WHERE content NOT IN (SELECT id FROM checkpoint_contents);
         DELETE FROM checkpoint_windows WHERE first NOT IN (SELECT id FROM checkpoints);
         DELETE FROM checkpoint_steps WHERE restore IN (SELECT id FROM checkpoint_restores
             WHERE state <> 'running' AND before NOT IN (SELECT id FROM checkpoints));
         DELETE FROM checkpoint_restores
             WHERE state <> 'running' AND before NOT IN (SELECT id FROM checkpoints);",
    )?;
    Ok(())
}

/// The pages in use.
fn used_bytes(connection: &Connection) -> Tx<u64> {
    let number = |pragma: &str| connection.query_row(pragma, [], |row| row.get::<_, u64>(0));
    let (pages, free) = (number("PRAGMA page_count")?, number("PRAGMA freelist_count")?);
    Ok((pages - free.min(pages)) * number("PRAGMA page_size")?)
}

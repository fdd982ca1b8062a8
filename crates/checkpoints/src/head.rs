//! The newest state of the tree, with what the file system said of it, in memory.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;

use rusqlite::Connection;

use crate::error::Tx;
use crate::look::{Look, UNSETTLED};
use crate::state::{STATE_COLUMNS, State, VERSIONS, read_state};
use crate::unkept::Making;

/// The newest version of a path.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its number in the table of versions.
    pub(crate) id: i64,
    pub(crate) state: State,
    pub(crate) inode: i64,
    /// [`UNSETTLED`] if the entry has to be read again.
    pub(crate) ctime: i64,
    /// Whether it is made from something that is not kept.
    pub(crate) making: Making,
    /// The last walk that has seen it again.
    pub(crate) seen: AtomicU64,
}

/// The newest state of the tree.
#[derive(Debug, Default)]
pub(crate) struct Head {
    /// Which writing of the store it is; another process may have written since.
    pub(crate) generation: Option<i64>,
    pub(crate) rows: HashMap<Box<[u8]>, Row>,
}

impl Row {
    /// Whether the entry is certainly as it was when it was read.
    pub(crate) fn is_at(&self, look: &Look) -> bool {
        let size = match &self.state.what {
            crate::state::What::File { size, .. } => *size,
            _ => look.size,
        };
        self.ctime != UNSETTLED
            && (self.inode, self.ctime) == (look.inode, look.ctime)
            && (self.state.mtime, size) == (look.mtime, look.size)
    }
}

impl Head {
    /// Reads it again if another process has written.
    pub(crate) fn refresh(&mut self, connection: &Connection) -> Tx<()> {
        let generation = generation(connection)?;
        if self.generation == Some(generation) {
            return Ok(());
        }
        self.rows.clear();
        self.generation = None;
        let sql = format!(
            "SELECT v.id, v.path, v.inode, v.ctime, v.ours, {STATE_COLUMNS} FROM {VERSIONS} \
             WHERE v.last IS NULL"
        );
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let path = row.get_ref(1)?.as_blob().unwrap_or_default().into();
            let (id, inode, ctime) = (row.get(0)?, row.get(2)?, row.get(3)?);
            let making = Making::of_column(row.get(4)?);
            let state = read_state(row, 5)?;
            let seen = AtomicU64::new(0);
            self.rows.insert(path, Row { id, state, inode, ctime, making, seen });
        }
        self.generation = Some(generation);
        Ok(())
    }
}

/// Changes to the head, made when the transaction is certain.
#[derive(Default)]
pub(crate) struct HeadChanges {
    pub(crate) changed: Vec<(Box<[u8]>, Row)>,
    pub(crate) removed: Vec<Box<[u8]>>,
    pub(crate) settled: Vec<(Box<[u8]>, i64, i64)>,
    /// Files that are not kept, with the inodes and times that others gave them.
    pub(crate) unkept: Vec<(Box<[u8]>, i64, i64)>,
    pub(crate) generation: Option<i64>,
}

impl HeadChanges {
    pub(crate) fn changed(&self) -> impl Iterator<Item = (&[u8], &Row)> {
        self.changed.iter().map(|(path, row)| (&path[..], row))
    }

    pub(crate) fn changed_mut(&mut self) -> impl Iterator<Item = (&[u8], &mut Row)> {
        self.changed.iter_mut().map(|(path, row)| (&path[..], row))
    }

    pub(crate) fn removed(&self) -> impl Iterator<Item = &[u8]> {
        self.removed.iter().map(|path| &path[..])
    }

    pub(crate) fn apply(self, head: &mut Head) {
        for path in self.removed {
            head.rows.remove(&path);
        }
        for (path, row) in self.changed {
            head.rows.insert(path, row);
        }
        for (path, inode, ctime) in self.settled {
            if let Some(row) = head.rows.get_mut(&path) {
                (row.inode, row.ctime) = (inode, ctime);
            }
        }
        for (path, inode, mtime) in self.unkept {
            if let Some(row) = head.rows.get_mut(&path) {
                (row.inode, row.state.mtime) = (inode, mtime);
            }
        }
        if self.generation.is_some() {
            head.generation = self.generation;
        }
    }
}

fn generation(connection: &Connection) -> Tx<i64> {
    let mut statement =
        connection.prepare_cached("SELECT value FROM checkpoint_store WHERE key = 'generation'")?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

/// Counts a writing, and gives its number.
pub(crate) fn advance(connection: &Connection) -> Tx<i64> {
    let mut statement = connection.prepare_cached(
        "UPDATE checkpoint_store SET value = value + 1 WHERE key = 'generation' RETURNING value",
    )?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

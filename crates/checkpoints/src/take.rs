//! Taking a checkpoint: a walk, and what it found as rows.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

use rusqlite::{Connection, OptionalExtension};
use toolwright_search::Ignores;

use crate::content::{self, Reading};
use crate::diff::{Change, change_between, path_of};
use crate::error::{Result, Tx, abort};
use crate::head::{Head, HeadChanges, Row, advance};
use crate::look::{Look, now};
use crate::state::{State, What};
use crate::unkept::{self, Making};
use crate::walk::{Found, FoundWhat, SeenAgain, Walk};
use crate::{CheckpointError, Checkpoints, Progress, SkipReason};

/// What is found is written while the walk goes on. It waits when this much is not written yet.
const MAX_WAITING: usize = 256;

/// Who made the changes since the last checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The caller, or a call that it knows of.
    Ours,
    /// Somebody else.
    Others,
}

impl Origin {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Others => "others",
        }
    }
}

/// How a checkpoint is taken.
#[derive(Debug, Clone, Copy)]
pub struct Take<'a> {
    /// Who made the changes since the last one.
    pub origin: Origin,
    /// A name for people.
    pub label: Option<&'a str>,
    /// If nothing has changed, the last one is given again.
    pub reuse: bool,
}

/// A checkpoint that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Its number.
    pub id: i64,
    /// What has changed since the last one, in the order of the paths. All files are created in the
    /// first.
    pub changed: Vec<Change>,
    /// The files, links and directories that it has.
    pub entries: u64,
    /// What is not kept, and why: some of it.
    pub skipped: Vec<(PathBuf, SkipReason)>,
}

/// The most entries that [`Taken::skipped`] names.
const MAX_SKIPPED: usize = 100;

/// Writes one checkpoint into an open transaction.
pub(crate) struct Writing<'a> {
    connection: &'a Connection,
    head: &'a Head,
    take: Take<'a>,
    /// Paths that a call of ours has changed, whoever made the rest.
    ours: &'a HashSet<Vec<u8>>,
    id: Option<i64>,
    changes: HeadChanges,
    changed: Vec<Change>,
    /// Directories of which nothing but the time has changed.
    touched: Vec<(Box<[u8]>, State, Look)>,
}

impl<'a> Writing<'a> {
    pub(crate) fn new(
        connection: &'a Connection,
        head: &'a Head,
        take: Take<'a>,
        ours: &'a HashSet<Vec<u8>>,
    ) -> Self {
        let changes = HeadChanges::default();
        Self { connection, head, take, ours, id: None, changes, changed: vec![], touched: vec![] }
    }

    pub(crate) fn head(&self) -> &'a Head {
        self.head
    }

    /// The number of the checkpoint, which is made at its first use.
    pub(crate) fn id(&mut self) -> Tx<i64> {
        if let Some(id) = self.id {
            return Ok(id);
        }
        let Take { origin, label, .. } = self.take;
        self.connection
            .prepare_cached("INSERT INTO checkpoints (at_ms, origin, label) VALUES (?1, ?2, ?3)")?
            .execute((now() / 1_000_000, origin.as_str(), label))?;
        let id = self.connection.last_insert_rowid();
        self.changes.generation = Some(advance(self.connection)?);
        self.id = Some(id);
        Ok(id)
    }

    fn found(&mut self, found: Found) -> Tx<()> {
        let Found { path, look, ctime, what } = found;
        let row = self.head.rows.get(&path[..]);
        let what = match what {
            FoundWhat::Other(what) => what,
            FoundWhat::File(Reading::Same) => match row {
                Some(row) => row.state.what.clone(),
                None => return Ok(()),
            },
            FoundWhat::File(Reading::Small(hash, packed)) => {
                let size = packed.size() as u64;
                What::File { content: content::store(self.connection, &hash, &packed)?, size, hash }
            }
            FoundWhat::File(Reading::Large(file)) => {
                let (content, size, hash) = content::store_large(self.connection, file)?;
                What::File { content, size, hash }
            }
        };
        let state = match &look {
            Some(look) if matches!(what, What::Ignored | What::Skipped(_)) => {
                State { mtime: look.ctime, ..State::untracked(what) }
            }
            Some(look) => look.state(what),
            None => State::untracked(what),
        };
        let inode = look.map_or(0, |look| look.inode);
        self.put(path.into(), state, (inode, ctime), look)
    }

    /// A path has a state, of which the file system says `inode` and `ctime`.
    pub(crate) fn put(
        &mut self,
        path: Box<[u8]>,
        state: State,
        (inode, ctime): (i64, i64),
        look: Option<Look>,
    ) -> Tx<()> {
        let row = self.head.rows.get(&path);
        if let Some(row) = row {
            if row.state == state {
                if (row.inode, row.ctime) != (inode, ctime) {
                    self.connection
                        .prepare_cached(
                            "UPDATE checkpoint_versions SET inode = ?2, ctime = ?3 WHERE id = ?1",
                        )?
                        .execute((row.id, inode, ctime))?;
                    self.changes.settled.push((path, inode, ctime));
                }
                return Ok(());
            }
            if !state.is_kept() && state.what == row.state.what && !self.is_ours(&path) {
                // Nobody asks what others have made of what is not kept.
                self.connection
                    .prepare_cached(
                        "UPDATE checkpoint_versions SET inode = ?2, mtime = ?3 WHERE id = ?1",
                    )?
                    .execute((row.id, inode, state.mtime))?;
                self.changes.unkept.push((path, inode, state.mtime));
                return Ok(());
            }
            if !state.is_change_of(&row.state)
                && let Some(look) = look
            {
                self.touched.push((path, state, look));
                return Ok(());
            }
        }
        self.version(path, state, (inode, ctime))
    }

    fn version(&mut self, path: Box<[u8]>, state: State, (inode, ctime): (i64, i64)) -> Tx<()> {
        let id = self.id()?;
        let row = self.head.rows.get(&path);
        let making = row.map_or(Making::Usual, |row| row.making);
        // A new time alone is nothing that an undo could destroy.
        let ours = self.is_ours(&path) || row.is_some_and(|row| state.has_content_of(&row.state));
        if let Some(row) = row {
            self.close(row.id, id, ours)?;
        }
        let (kind, content, text) = state.columns();
        let State { mode, uid, gid, mtime, .. } = state;
        self.connection
            .prepare_cached(
                "INSERT INTO checkpoint_versions
                 (path, first, ours, kind, mode, uid, gid, mtime, content, text, inode, ctime)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            )?
            .execute((
                &path[..],
                id,
                i64::from(ours) | making.bits(),
                kind,
                mode,
                uid,
                gid,
                mtime,
                content,
                text,
                inode,
                ctime,
            ))?;
        let version = self.connection.last_insert_rowid();
        self.changed.extend(change_between(&path, row.map(|row| &row.state), Some(&state)));
        let seen = AtomicU64::new(0);
        let row = Row { id: version, state, inode, ctime, making, seen };
        self.changes.changed.push((path, row));
        Ok(())
    }

    /// A path is gone.
    pub(crate) fn remove(&mut self, path: &[u8], row: &Row) -> Tx<()> {
        let id = self.id()?;
        self.close(row.id, id, self.is_ours(path))?;
        self.changed.extend(change_between(path, Some(&row.state), None));
        self.changes.removed.push(path.into());
        Ok(())
    }

    fn is_ours(&self, path: &[u8]) -> bool {
        self.take.origin == Origin::Ours || self.ours.contains(path)
    }

    fn close(&self, version: i64, id: i64, ours: bool) -> Tx<()> {
        self.connection
            .prepare_cached(
                "UPDATE checkpoint_versions SET last = ?2, last_ours = ?3 WHERE id = ?1",
            )?
            .execute((version, id, ours))?;
        Ok(())
    }

    /// See [`unkept::mark`].
    fn mark_unkept(&mut self, store: &Checkpoints) -> Tx<()> {
        let Some(id) = self.id else { return Ok(()) };
        unkept::mark(self.connection, store, id, self.head, &mut self.changes)
    }

    /// The checkpoint is complete, or nothing has changed and the last one stands for it.
    pub(crate) fn finish(mut self) -> Tx<(i64, Vec<Change>, HeadChanges)> {
        let last = || -> Tx<Option<i64>> {
            let mut statement =
                self.connection.prepare_cached("SELECT max(id) FROM checkpoints")?;
            Ok(statement.query_row([], |row| row.get(0)).optional()?.flatten())
        };
        if self.id.is_none()
            && self.take.reuse
            && let Some(id) = last()?
        {
            return Ok((id, Vec::new(), self.changes));
        }
        let id = self.id()?;
        for (path, state, look) in std::mem::take(&mut self.touched) {
            self.version(path, state, (look.inode, look.ctime))?;
        }
        self.changed.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        self.connection
            .prepare_cached("UPDATE checkpoints SET changes = ?2 WHERE id = ?1")?
            .execute((id, self.changed.len() as u64))?;
        Ok((id, self.changed, self.changes))
    }
}

impl Checkpoints {
    /// Takes a checkpoint of the whole tree.
    ///
    /// # Errors
    ///
    /// [`CheckpointError::Root`], [`CheckpointError::TooLarge`], [`CheckpointError::Cancelled`], and those
    /// of the store.
    pub fn take(&self, take: Take<'_>, cancel: &AtomicBool, progress: &Progress) -> Result<Taken> {
        let alone = self.alone(cancel)?;
        alone.settle(cancel, progress)?;
        let taken = alone.take(take, &HashSet::new(), cancel, progress)?;
        alone.bound()?;
        Ok(taken)
    }
}

impl crate::alone::Alone<'_> {
    /// Takes a checkpoint. Changes of the paths in `ours` are ours in any case.
    pub(crate) fn take(
        &self,
        take: Take<'_>,
        ours: &HashSet<Vec<u8>>,
        cancel: &AtomicBool,
        progress: &Progress,
    ) -> Result<Taken> {
        progress.begin();
        let store = self.store;
        let mut head = self.head();
        let head = &mut *head;
        let written = store.database.transaction("taking a checkpoint", |connection| {
            head.refresh(connection)?;
            let mut writing = Writing::new(connection, head, take, ours);
            walk_into(store, &mut writing, cancel, progress)?;
            writing.mark_unkept(store)?;
            let finished = writing.finish()?;
            store.check_size(connection)?;
            Tx::Ok(finished)
        });
        let (id, changed, pending) = match written {
            Ok(written) => written,
            Err(error) => {
                // What was read of the store within a transaction that failed may not be there.
                head.generation = None;
                return Err(error);
            }
        };
        pending.apply(head);
        let mut skipped: Vec<_> = Vec::new();
        let mut entries = 0;
        for (path, row) in &head.rows {
            match row.state.what {
                What::Skipped(reason) if skipped.len() < MAX_SKIPPED => {
                    skipped.push((path_of(path), reason));
                }
                What::Skipped(_) | What::Ignored => {}
                _ => entries += 1,
            }
        }
        skipped.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(Taken { id, changed, entries, skipped })
    }
}

fn walk_into(
    store: &Checkpoints,
    writing: &mut Writing<'_>,
    cancel: &AtomicBool,
    progress: &Progress,
) -> Tx<()> {
    let head = writing.head;
    let seen = SeenAgain::new();
    let open = |path: &std::path::Path| store.confined.open_listed(path);
    let ignores = (!store.options.with_ignored).then(|| Ignores::new(&store.root, &open));
    let walk = Walk {
        root: &store.directory,
        root_path: &store.root,
        head,
        own: &store.own_rules,
        ignores: ignores.as_ref(),
        max_file_bytes: store.options.max_file_bytes,
        cancel,
        progress,
        user: rustix::process::geteuid().as_raw(),
    };
    let walked = thread::scope(|scope| {
        let (sender, receiver) = sync_channel(MAX_WAITING);
        let walk = &walk;
        // The receiver ends when the sender is gone.
        let walking = scope.spawn(move || walk.run(seen, &sender));
        let mut written = Ok(());
        for found in &receiver {
            if let Err(error) = writing.found(found) {
                written = Err(error);
                break;
            }
        }
        drop(receiver);
        let walked = walking.join().unwrap_or_else(|_| Err(std::io::Error::other("a panic")));
        written.map(|()| walked)
    })?;
    if cancel.load(Ordering::Relaxed) {
        return abort(CheckpointError::Cancelled);
    }
    if let Err(source) = walked {
        return abort(CheckpointError::Root { path: store.root.clone(), source });
    }
    for (path, row) in head.rows.iter().filter(|(_, row)| !seen.has(row)) {
        writing.remove(path, row)?;
    }
    Ok(())
}

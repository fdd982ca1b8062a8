//! What is made from something that checkpoints do not keep.
//!
//! A call can rename an ignored file to a kept name, or unpack one and remove it. The new file is then all that is
//! left of the old one, and an undo that removed it would lose it. Two signs tell such a file: it is older than the
//! call and was not kept under another name, or something that is not kept has gone or was changed in the same call,
//! also within a directory that is ignored.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;

use rusqlite::Connection;
use rustix::fs::AtFlags;
use toolwright_sqlite::sync::lock;

use crate::Checkpoints;
use crate::error::Tx;
use crate::head::{Head, HeadChanges, Row};
use crate::look::CLOCK_TICK;
use crate::state::{State, What};
use crate::touched;

/// How a version came to be, as far as that bears on an undo. Stored in the column `ours`, above the lowest bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Making {
    #[default]
    Usual,
    /// It was there before, under a name that is not kept.
    Moved,
    /// It was made when something that is not kept went away.
    WhileGone,
}

const SHIFT: i64 = 1;

impl Making {
    pub(crate) fn of_column(ours: i64) -> Self {
        match ours >> SHIFT {
            0 => Self::Usual,
            1 => Self::Moved,
            _ => Self::WhileGone,
        }
    }

    pub(crate) fn bits(self) -> i64 {
        match self {
            Self::Usual => 0,
            Self::Moved => 1 << SHIFT,
            Self::WhileGone => 2 << SHIFT,
        }
    }

    /// Why an undo leaves it; `None` if it does not.
    pub(crate) fn reason(self) -> Option<&'static str> {
        match self {
            Self::Usual => None,
            Self::Moved => Some(
                "it was there before, under a name that checkpoints do not keep, and may be the only copy",
            ),
            Self::WhileGone => Some(
                "something that checkpoints do not keep went away or was changed when it was made, and it may be all that is left of that",
            ),
        }
    }
}

/// Why something that is not kept is left as it is.
pub(crate) fn reason_of(state: &State) -> &'static str {
    use crate::SkipReason::{HardLink, Large, OtherOwner, Special, Unreadable};
    match state.what {
        What::Ignored => "it is ignored, and checkpoints do not keep it",
        What::Skipped(HardLink) => {
            "it has several names (hard links), and checkpoints do not keep it"
        }
        What::Skipped(Large) => "it is too large to be kept",
        What::Skipped(OtherOwner) => "it belongs to another user, and checkpoints do not keep it",
        What::Skipped(Special) => {
            "it is no file, link or directory, and checkpoints do not keep it"
        }
        What::Skipped(Unreadable) => "it could not be read, and checkpoints do not keep it",
        What::File { .. } | What::Link(_) | What::Directory => "checkpoints did not keep it before",
    }
}

/// When the changes of checkpoint `id` began: with the calls that run, or after the last checkpoint. `None` for
/// the first one.
fn beginning(connection: &Connection, store: &Checkpoints, id: i64) -> Tx<Option<i64>> {
    let running = lock(&store.began).values().copied().min();
    if running.is_some() {
        return Ok(running);
    }
    let sql = "SELECT max(at_ms) FROM checkpoints WHERE id < ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let last: Option<i64> = statement.query_row([id], |row| row.get(0))?;
    // The clock of files may be behind.
    Ok(last.map(|at_ms| at_ms.saturating_mul(1_000_000) - CLOCK_TICK))
}

/// Finds the versions of checkpoint `id` that are made from what is not kept, and records that.
pub(crate) fn mark(
    connection: &Connection,
    store: &Checkpoints,
    id: i64,
    head: &Head,
    changes: &mut HeadChanges,
) -> Tx<()> {
    let Some(since) = beginning(connection, store, id)? else { return Ok(()) };
    let directory = store.directory.as_fd();
    let unkept = |path: &[u8]| head.rows.get(path).filter(|row| !row.state.is_kept());
    // What was renamed has not gone. A new file can have the inode of one that has.
    let is_renamed = |gone: &Row| {
        changes.changed().any(|(path, row)| {
            row.inode == gone.inode && birth(directory, path).unwrap_or(row.state.mtime) <= since
        })
    };
    let is_gone = |row: &Row| row.inode == 0 || !is_renamed(row);
    let has_gone = changes.removed().filter_map(unkept).any(is_gone)
        || changes.changed().any(|(path, row)| {
            // What was in it may have been packed, or unpacked, before it was written anew.
            unkept(path).is_some_and(|old| {
                !row.state.is_kept() || row.state.mtime >= since || row.inode != old.inode
            })
        })
        || changes
            .settled
            .iter()
            .any(|(path, inode, _)| unkept(path).is_some_and(|old| old.inode != *inode));
    let is_new = |path: &[u8], row: &Row| row.state.is_kept() && !head.rows.contains_key(path);
    let has_gone = has_gone
        || changes.changed().any(|(path, row)| is_new(path, row) && !row.state.is_directory())
            && touched::is_touched(directory, ignored_directories(head, changes), since);
    let mut inodes = Inodes::default();
    for (path, row) in changes.changed_mut() {
        if !matches!(row.state.what, What::File { .. } | What::Link(_)) {
            continue;
        }
        let old = head.rows.get(path);
        if old.is_some_and(|old| !old.state.is_kept()) {
            continue; // the target does not know it, and nothing there is touched
        }
        let is_other = old.is_none_or(|old| old.inode != row.inode);
        let making = match old.map_or(Making::Usual, |old| old.making) {
            Making::Usual if is_other => inodes.making(directory, path, row, head, since),
            making => making,
        };
        row.making = match making {
            Making::Usual if has_gone && old.is_none() && !inodes.is_kept(row, head) => {
                Making::WhileGone
            }
            making => making,
        };
        if row.making != Making::Usual {
            connection
                .prepare_cached("UPDATE checkpoint_versions SET ours = ours | ?2 WHERE id = ?1")?
                .execute((row.id, row.making.bits()))?;
        }
    }
    Ok(())
}

/// The directories that were ignored before and still are. Of an ignored file the inode is known.
fn ignored_directories<'a>(
    head: &'a Head,
    changes: &'a HeadChanges,
) -> impl Iterator<Item = &'a [u8]> {
    let is_directory = |row: &Row| row.state.what == What::Ignored && row.inode == 0;
    let removed: HashSet<&[u8]> = changes.removed().collect();
    let paths = head.rows.iter().filter(move |(_, row)| is_directory(row));
    paths.map(|(path, _)| &path[..]).filter(move |path| !removed.contains(path))
}

/// The inodes of the last state, looked at when they are needed.
#[derive(Default)]
struct Inodes {
    all: Option<(HashSet<i64>, HashSet<i64>, HashSet<i64>)>,
}

impl Inodes {
    /// Those that are kept, those that are not, and those that are kept and were made from what is not.
    fn of<'a>(&'a mut self, head: &Head) -> &'a (HashSet<i64>, HashSet<i64>, HashSet<i64>) {
        self.all.get_or_insert_with(|| {
            let (mut kept, mut unkept, mut moved) = Default::default();
            for row in head.rows.values().filter(|row| row.inode != 0) {
                let set: &mut HashSet<i64> = match row.making {
                    _ if !row.state.is_kept() => &mut unkept,
                    Making::Usual => &mut kept,
                    Making::Moved | Making::WhileGone => &mut moved,
                };
                set.insert(row.inode);
            }
            (kept, unkept, moved)
        })
    }

    fn is_kept(&mut self, row: &Row, head: &Head) -> bool {
        self.of(head).0.contains(&row.inode)
    }

    fn making(
        &mut self,
        directory: BorrowedFd<'_>,
        path: &[u8],
        row: &Row,
        head: &Head,
        since: i64,
    ) -> Making {
        let born = birth(directory, path).unwrap_or(row.state.mtime);
        if born > since {
            return Making::Usual;
        }
        let (kept, unkept, moved) = self.of(head);
        let is_old = unkept.contains(&row.inode) || born < since && !kept.contains(&row.inode);
        if moved.contains(&row.inode) || is_old { Making::Moved } else { Making::Usual }
    }
}

/// When an entry was made, in nanoseconds, where the file system knows it.
#[cfg(target_os = "linux")]
pub(crate) fn birth(directory: impl AsFd, path: &[u8]) -> Option<i64> {
    use rustix::fs::{StatxFlags, statx};
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    let found = statx(directory, OsStr::from_bytes(path), flags, StatxFlags::BTIME).ok()?;
    let has_time = found.stx_mask & StatxFlags::BTIME.bits() != 0;
    let nanoseconds = i64::from(found.stx_btime.tv_nsec);
    has_time
        .then(|| found.stx_btime.tv_sec.saturating_mul(1_000_000_000).saturating_add(nanoseconds))
}

#[cfg(target_os = "macos")]
pub(crate) fn birth(directory: impl AsFd, path: &[u8]) -> Option<i64> {
    let stat = rustix::fs::statat(directory, OsStr::from_bytes(path), AtFlags::SYMLINK_NOFOLLOW);
    let stat = stat.ok()?;
    Some(stat.st_birthtime.saturating_mul(1_000_000_000).saturating_add(stat.st_birthtime_nsec))
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub(crate) fn birth(_: impl AsFd, _: &[u8]) -> Option<i64> {
    None
}

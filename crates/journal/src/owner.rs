//! Owners of rows, and whether they can still write an outcome.
//!
//! A journal that writes is an owner: a row of `_toolwright_owners`, and a lock that it holds while it is
//! open. If the lock is free, the owner is gone: the kernel says so. The inode identifies the file of the
//! lock. Where that file is missing (the database was copied, or the locks were removed), pid, start time
//! and boot decide, and where these mean nothing (another machine, another pid namespace) the owner's
//! rows are left alone.

use std::path::Path;

use rusqlite::{Connection, Row, named_params};
use toolwright_process::Identity;
use toolwright_sqlite::clock::now_ms;
use toolwright_sqlite::{FileId, lock_file};

use crate::columns::{integer_at, text_at};

pub(crate) const PREFIX: &str = "owner-";

/// The row of an owner.
#[derive(Debug, Clone)]
pub(crate) struct Owner {
    pub(crate) id: i64,
    process: Identity,
    pub(crate) lock_name: String,
    lock: Option<FileId>,
    /// All rows it wrote come after this one.
    pub(crate) rows_after: i64,
}

/// Writes the row of an owner that has its lock, and gives its number.
pub(crate) fn insert(
    connection: &Connection,
    lock_name: &str,
    lock: FileId,
) -> rusqlite::Result<i64> {
    let process = Identity::current();
    connection.execute(
        "INSERT INTO _toolwright_owners (machine, boot, pid_namespace, pid, process_start,
             lock_name, lock_device, lock_inode, opened_at_ms, rows_after)
         VALUES (:machine, :boot, :namespace, :pid, :start, :name, :device, :inode, :now,
             (SELECT coalesce(max(rowid), 0) FROM _smithers_tool_calls))",
        named_params! {
            ":machine": process.machine,
            ":boot": process.boot,
            ":namespace": process.namespace,
            ":pid": process.pid,
            ":start": process.start.cast_signed(),
            ":name": lock_name,
            ":device": lock.device.cast_signed(),
            ":inode": lock.inode.cast_signed(),
            ":now": now_ms(),
        },
    )?;
    Ok(connection.last_insert_rowid())
}

/// The owners that have not ended properly.
pub(crate) fn open_owners(connection: &Connection) -> rusqlite::Result<Vec<Owner>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, machine, boot, pid_namespace, pid, process_start, lock_name, lock_device,
             lock_inode, rows_after
         FROM _toolwright_owners WHERE ended_at_ms IS NULL",
    )?;
    statement.query_map([], read)?.collect()
}

fn read(row: &Row<'_>) -> rusqlite::Result<Owner> {
    let number = |index| integer_at(row, index).map(Option::unwrap_or_default);
    let text = |index| text_at(row, index).map(Option::unwrap_or_default);
    let (device, inode) = (integer_at(row, 7)?, integer_at(row, 8)?);
    Ok(Owner {
        id: number(0)?,
        process: Identity {
            machine: text(1)?,
            boot: text(2)?,
            namespace: text(3)?,
            pid: u32::try_from(number(4)?).unwrap_or(0),
            start: number(5)?.cast_unsigned(),
        },
        lock_name: text(6)?,
        lock: device.zip(inode).map(|(device, inode)| FileId {
            device: device.cast_unsigned(),
            inode: inode.cast_unsigned(),
        }),
        rows_after: number(9)?,
    })
}

impl Owner {
    /// Whether it can still write, as seen by the process `here`; `None` where that is not known.
    pub(crate) fn is_alive(&self, here: &Identity, locks: &Path) -> Option<bool> {
        if !self.process.shares_machine_with(here) {
            return None;
        }
        let lock = self.lock.filter(|_| is_lock_name(&self.lock_name));
        if let Some(is_alive) = lock.and_then(|id| lock_file::probe(locks, &self.lock_name, id)) {
            return Some(is_alive);
        }
        if self.process.shares_boot_with(here) || here.boot.is_empty() {
            return self.process.is_running(here);
        }
        // The same machine, restarted.
        (!self.process.boot.is_empty()).then_some(false)
    }
}

/// Whether it is a name of this crate: it was read from a file that another program may have written.
pub(crate) fn is_lock_name(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use toolwright_sqlite::LockFile;

    use super::*;

    fn owner(process: Identity, lock_name: &str, lock: Option<FileId>) -> Owner {
        Owner { id: 1, process, lock_name: lock_name.to_owned(), lock, rows_after: 0 }
    }

    #[test]
    fn the_lock_decides_where_it_is_there() {
        let base = tempfile::tempdir().expect("directory");
        let lock = LockFile::acquire(base.path(), "owner-1").expect("works").expect("free");
        let identity = Some(lock.id());
        let this = Identity::current();
        // Also of a process in another container of this machine.
        let contained = Identity { namespace: "other".to_owned(), pid: 1, ..this.clone() };
        let lock_owner = owner(contained, "owner-1", identity);
        assert_eq!(lock_owner.is_alive(&this, base.path()), Some(true));
        lock.release_visibly();
        assert_eq!(lock_owner.is_alive(&this, base.path()), Some(false));
    }

    #[test]
    fn without_the_lock_the_process_decides() {
        let base = tempfile::tempdir().expect("directory");
        let this = Identity::current();
        let is_alive =
            |process: Identity| owner(process, "owner-1", None).is_alive(&this, base.path());
        assert_eq!(is_alive(this.clone()), Some(true));
        assert_eq!(is_alive(Identity { start: this.start + 1, ..this.clone() }), Some(false));
        let contained = Identity { namespace: "other".to_owned(), ..this.clone() };
        assert_eq!(is_alive(contained), None);
    }

    #[test]
    fn a_copy_of_the_lock_is_not_the_lock() {
        let base = tempfile::tempdir().expect("directory");
        let lock = LockFile::acquire(base.path(), "owner-1").expect("works").expect("free");
        let copy = tempfile::tempdir().expect("directory");
        std::fs::copy(base.path().join("owner-1"), copy.path().join("owner-1")).expect("copied");
        let lock_owner = owner(Identity::current(), "owner-1", Some(lock.id()));
        assert_eq!(lock_owner.is_alive(&Identity::current(), copy.path()), Some(true));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn another_machine_is_not_judged_and_one_started_anew_is() {
        let base = tempfile::tempdir().expect("directory");
        let this = Identity::current();
        let rebooted = Identity { boot: "before".to_owned(), ..this.clone() };
        let is_alive = |process| owner(process, "owner-1", None).is_alive(&this, base.path());
        assert_eq!(is_alive(rebooted.clone()), Some(false));
        let foreign = Identity { machine: "other".to_owned(), ..rebooted };
        assert_eq!(is_alive(foreign), None);
        assert_eq!(
            is_alive(Identity { machine: String::new(), boot: String::new(), ..this.clone() }),
            None
        );
    }
}

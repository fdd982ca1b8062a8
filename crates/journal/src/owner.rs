//! Who writes a row, and whether it can still write the outcome.
//!
//! A journal that writes is an owner: a row of `_toolwright_owners`, and a lock that it holds as long
//! as it is open. Whoever finds the lock free knows that the owner is gone, by the kernel's word.
//! The lock's file is known by its inode; where it is not there (the database was copied, or the
//! locks were removed) pid, start time and boot decide, and where these mean nothing (another
//! machine, another pid namespace) nothing is decided.

use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, Row, named_params};
use toolwright_process::Identity as Process;
use toolwright_sqlite::lock_file::{self, unused_name};
use toolwright_sqlite::{Held, Identity, LockFile};

use crate::JournalError;
use crate::columns::{integer_at, text_at};

const PREFIX: &str = "owner-";

/// The row of an owner.
#[derive(Debug)]
pub(crate) struct Owner {
    pub(crate) id: i64,
    process: Process,
    pub(crate) lock_name: String,
    lock: Option<Identity>,
    /// All rows it wrote come after this one.
    pub(crate) rows_after: i64,
}

/// Whether an owner can still write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Alive,
    Gone,
    CannotBeTold,
}

/// An owner that has its lock, and not yet its row.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) lock: LockFile,
    name: String,
    identity: Identity,
}

impl Candidate {
    /// Before the row, so that nobody finds a row whose lock is free.
    pub(crate) fn new(locks: &Path) -> Result<Self, JournalError> {
        let name = unused_name(PREFIX);
        let failed =
            |source| JournalError::Lock { path: locks.join(&name), source: Arc::new(source) };
        let Some(lock) = LockFile::acquire(locks, &name)? else {
            return Err(failed(std::io::Error::other("a new name is taken")));
        };
        let identity = lock.identity().map_err(failed)?;
        Ok(Self { lock, name, identity })
    }

    /// Writes the row, and gives its number.
    pub(crate) fn insert(&self, connection: &Connection, now_ms: i64) -> rusqlite::Result<i64> {
        let process = Process::current();
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
                ":name": self.name,
                ":device": self.identity.device.cast_signed(),
                ":inode": self.identity.inode.cast_signed(),
                ":now": now_ms,
            },
        )?;
        Ok(connection.last_insert_rowid())
    }
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
        process: Process {
            machine: text(1)?,
            boot: text(2)?,
            namespace: text(3)?,
            pid: u32::try_from(number(4)?).unwrap_or(0),
            start: number(5)?.cast_unsigned(),
        },
        lock_name: text(6)?,
        lock: device.zip(inode).map(|(device, inode)| Identity {
            device: device.cast_unsigned(),
            inode: inode.cast_unsigned(),
        }),
        rows_after: number(9)?,
    })
}

impl Owner {
    pub(crate) fn verdict(&self, locks: &Path) -> Verdict {
        self.verdict_of(&Process::current(), locks)
    }

    fn verdict_of(&self, this: &Process, locks: &Path) -> Verdict {
        if !self.process.shares_machine_with(this) {
            return Verdict::CannotBeTold;
        }
        let held = match self.lock {
            Some(identity) if is_lock_name(&self.lock_name) => {
                lock_file::probe(locks, &self.lock_name, identity)
            }
            _ => Held::CannotBeTold,
        };
        match held {
            Held::Yes => Verdict::Alive,
            Held::No => Verdict::Gone,
            Held::CannotBeTold if self.process.shares_boot_with(this) || this.boot.is_empty() => {
                match self.process.is_running(this) {
                    Some(true) => Verdict::Alive,
                    Some(false) => Verdict::Gone,
                    None => Verdict::CannotBeTold,
                }
            }
            // The same machine, started anew.
            Held::CannotBeTold if !self.process.boot.is_empty() => Verdict::Gone,
            Held::CannotBeTold => Verdict::CannotBeTold,
        }
    }
}

/// Whether it is a name as given here: it is read from the database, which may be anybody's work.
pub(crate) fn is_lock_name(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(process: Process, lock_name: &str, lock: Option<Identity>) -> Owner {
        Owner { id: 1, process, lock_name: lock_name.to_owned(), lock, rows_after: 0 }
    }

    #[test]
    fn the_lock_decides_where_it_is_there() {
        let base = tempfile::tempdir().expect("directory");
        let lock = LockFile::acquire(base.path(), "owner-1").expect("works").expect("free");
        let identity = lock.identity().ok();
        let this = Process::current();
        // Also of a process in another container of this machine.
        let contained = Process { namespace: "other".to_owned(), pid: 1, ..this.clone() };
        let held = owner(contained, "owner-1", identity);
        assert_eq!(held.verdict_of(&this, base.path()), Verdict::Alive);
        lock.release_visibly();
        assert_eq!(held.verdict_of(&this, base.path()), Verdict::Gone);
    }

    #[test]
    fn without_the_lock_the_process_decides() {
        let base = tempfile::tempdir().expect("directory");
        let this = Process::current();
        let verdict =
            |process: Process| owner(process, "owner-1", None).verdict_of(&this, base.path());
        assert_eq!(verdict(this.clone()), Verdict::Alive);
        assert_eq!(verdict(Process { start: this.start + 1, ..this.clone() }), Verdict::Gone);
        let contained = Process { namespace: "other".to_owned(), ..this.clone() };
        assert_eq!(verdict(contained), Verdict::CannotBeTold);
    }

    #[test]
    fn a_copy_of_the_lock_is_not_the_lock() {
        let base = tempfile::tempdir().expect("directory");
        let lock = LockFile::acquire(base.path(), "owner-1").expect("works").expect("free");
        let copy = tempfile::tempdir().expect("directory");
        std::fs::copy(base.path().join("owner-1"), copy.path().join("owner-1")).expect("copied");
        let held = owner(Process::current(), "owner-1", lock.identity().ok());
        assert_eq!(held.verdict_of(&Process::current(), copy.path()), Verdict::Alive);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn another_machine_is_not_judged_and_one_started_anew_is() {
        let base = tempfile::tempdir().expect("directory");
        let this = Process::current();
        let rebooted = Process { boot: "before".to_owned(), ..this.clone() };
        let verdict = |process| owner(process, "owner-1", None).verdict_of(&this, base.path());
        assert_eq!(verdict(rebooted.clone()), Verdict::Gone);
        let foreign = Process { machine: "other".to_owned(), ..rebooted };
        assert_eq!(verdict(foreign), Verdict::CannotBeTold);
        assert_eq!(
            verdict(Process { machine: String::new(), boot: String::new(), ..this.clone() }),
            Verdict::CannotBeTold
        );
    }
}

//! Laws of a database, over random sequences of what its users do.
#![allow(
    clippy::unwrap_used,
    clippy::allow_attributes,
    reason = "a failed unwrap is a failed test"
)]

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;
use toolwright_sqlite::{
    Access, BusyTimeout, Database, Location, NamedLock, Options, Schema, SqliteError,
    SqliteErrorKind, Synchronous, TryLock, TxError,
};

struct Pairs;

impl Schema for Pairs {
    type State = bool;

    fn inspect(connection: &rusqlite::Connection, _: Access) -> rusqlite::Result<bool> {
        connection.table_exists(None, "pairs")
    }

    fn check(exists: &bool, access: Access) -> Result<(), String> {
        if *exists || access == Access::ReadWrite { Ok(()) } else { Err("empty".to_owned()) }
    }

    fn missing(exists: &bool) -> Option<String> {
        (!exists).then(|| "CREATE TABLE pairs(key INTEGER PRIMARY KEY, value INTEGER)".to_owned())
    }
}

fn open(location: &Location, access: Access) -> Result<Database, SqliteError> {
    let busy_timeout = BusyTimeout(Duration::from_secs(10));
    let options = Options { access, synchronous: Synchronous::Normal, busy_timeout };
    Database::open::<Pairs>(location, options).map(|(database, _)| database)
}

fn all(database: &Database) -> Result<BTreeMap<i64, i64>, SqliteError> {
    database.read("reading", |connection| {
        let mut statement = connection.prepare_cached("SELECT key, value FROM pairs")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect::<rusqlite::Result<_>>()
    })
}

/// Why a transaction was aborted.
#[derive(Debug)]
enum Refusal {
    Wanted,
    Sqlite(SqliteError),
}

impl From<SqliteError> for Refusal {
    fn from(error: SqliteError) -> Self {
        Self::Sqlite(error)
    }
}

#[derive(Debug, Clone)]
enum Step {
    /// Writes pairs in one transaction, and aborts it in the end or not.
    Write {
        handle: usize,
        pairs: Vec<(i64, i64)>,
        abort: bool,
    },
    /// As one statement, without waiting.
    WriteNowait {
        handle: usize,
        pair: (i64, i64),
    },
    Read {
        handle: usize,
    },
    /// Closes a handle and opens the file again.
    Reopen {
        handle: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let handle = || 0_usize..3;
    let pair = || (0_i64..4, 0_i64..100);
    prop_oneof![
        4 => (handle(), prop::collection::vec(pair(), 0..4), any::<bool>())
            .prop_map(|(handle, pairs, abort)| Step::Write { handle, pairs, abort }),
        2 => (handle(), pair()).prop_map(|(handle, pair)| Step::WriteNowait { handle, pair }),
        3 => handle().prop_map(|handle| Step::Read { handle }),
        1 => handle().prop_map(|handle| Step::Reopen { handle }),
    ]
}

const PUT: &str = "INSERT OR REPLACE INTO pairs VALUES (?1, ?2)";

fn names(directory: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Every handle reads what was committed last, whichever handle wrote it; an aborted transaction
    /// leaves nothing; and the last handle that is closed leaves the file alone in its directory.
    #[test]
    fn every_handle_reads_what_was_committed(steps in prop::collection::vec(step(), 0..30)) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().canonicalize().unwrap().join("pairs.db");
        let location = Location::File(path.clone());
        let mut handles: Vec<Database> =
            (0..3).map(|_| open(&location, Access::ReadWrite).unwrap()).collect();
        let reader = open(&location, Access::ReadOnly).unwrap();
        let mut model = BTreeMap::new();
        for step in steps {
            match step {
                Step::Write { handle, pairs, abort } => {
                    let written = handles[handle].transaction("writing", |connection| {
                        for pair in &pairs {
                            connection.execute(PUT, *pair)?;
                        }
                        if abort { Err(TxError::Abort(Refusal::Wanted)) } else { Ok(()) }
                    });
                    match written {
                        Ok(()) => model.extend(pairs),
                        Err(Refusal::Wanted) => prop_assert!(abort),
                        Err(Refusal::Sqlite(error)) => prop_assert!(false, "{error}"),
                    }
                }
                Step::WriteNowait { handle, pair } => {
                    let writer = handles[handle].try_writer_nowait().expect("it is idle").unwrap();
                    writer.execute("writing", |connection| connection.execute(PUT, pair)).unwrap();
                    model.insert(pair.0, pair.1);
                }
                Step::Read { handle } => prop_assert_eq!(&all(&handles[handle]).unwrap(), &model),
                Step::Reopen { handle } => {
                    handles[handle].close().unwrap();
                    let is_closed = matches!(all(&handles[handle]), Err(SqliteError { kind: SqliteErrorKind::Closed, .. }));
                    prop_assert!(is_closed);
                    handles[handle] = open(&location, Access::ReadWrite).unwrap();
                }
            }
            prop_assert_eq!(&all(&reader).unwrap(), &model);
        }
        drop((reader, handles));
        prop_assert_eq!(names(place.path()).len(), 1);
        prop_assert_eq!(all(&open(&location, Access::ReadOnly).unwrap()).unwrap(), model);
    }

    /// A name has one holder at a time, over all handles of a file; in memory, over those who share it.
    #[test]
    fn a_lock_has_one_holder(
        in_memory: bool,
        steps in prop::collection::vec((0_usize..2, 0_usize..3, any::<bool>()), 0..40),
    ) {
        let place = tempfile::tempdir().unwrap();
        let location = if in_memory {
            Location::Memory
        } else {
            Location::File(place.path().join("locks.db"))
        };
        let handles = [0, 1].map(|_| open(&location, Access::ReadWrite).unwrap());
        let mut locks: HashMap<(usize, usize), NamedLock> = HashMap::new();
        for (handle, name, acquire) in steps {
            // Two databases in memory have nothing in common.
            let scope = if in_memory { handle } else { 0 };
            if !acquire {
                locks.remove(&(scope, name));
                continue;
            }
            match handles[handle].try_lock(&format!("name-{name}"), "me").unwrap() {
                TryLock::Acquired(lock) => {
                    prop_assert!(locks.insert((scope, name), lock).is_none(), "it was held");
                }
                TryLock::HeldBy(note) => {
                    prop_assert!(locks.contains_key(&(scope, name)), "it was free");
                    prop_assert_eq!(note, if in_memory { "" } else { " (me)" });
                }
            }
        }
    }
}

#[test]
fn a_database_that_is_only_read_refuses_writers_and_locks() {
    let place = tempfile::tempdir().unwrap();
    let location = Location::File(place.path().join("a.db"));
    open(&location, Access::ReadWrite).unwrap().close().unwrap();
    let reader = open(&location, Access::ReadOnly).unwrap();
    assert!(matches!(reader.writer(), Err(SqliteError { kind: SqliteErrorKind::ReadOnly, .. })));
    assert!(matches!(
        reader.try_lock("a", ""),
        Err(SqliteError { kind: SqliteErrorKind::ReadOnly, .. })
    ));
    assert!(matches!(
        reader.check_writable(),
        Err(SqliteError { kind: SqliteErrorKind::ReadOnly, .. })
    ));
}

#[test]
fn a_write_to_a_removed_file_fails() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().canonicalize().unwrap().join("a.db");
    let database = open(&Location::File(path.clone()), Access::ReadWrite).unwrap();
    std::fs::remove_file(&path).unwrap();
    let written: Result<usize, SqliteError> =
        database.transaction("writing", |connection| connection.execute(PUT, (1, 1)));
    assert!(matches!(written, Err(error) if error == SqliteErrorKind::Removed.at(&path)));
}

#[test]
fn a_writer_waits_no_longer_than_the_timeout_for_its_turn_and_for_other_processes_together() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.db");
    let busy_timeout = BusyTimeout(Duration::from_millis(200));
    let options =
        Options { access: Access::ReadWrite, synchronous: Synchronous::Normal, busy_timeout };
    let (database, _) = Database::open::<Pairs>(&Location::File(path.clone()), options).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let waits = std::thread::scope(|scope| {
        let write = || {
            let started = std::time::Instant::now();
            let written: Result<usize, SqliteError> =
                database.transaction("writing", |connection| connection.execute(PUT, (1, 1)));
            assert!(
                matches!(written, Err(SqliteError { kind: SqliteErrorKind::Busy, .. })),
                "{written:?}"
            );
            started.elapsed()
        };
        [scope.spawn(write), scope.spawn(write)].map(|thread| thread.join().unwrap())
    });
    // One after the other would have taken twice as long.
    assert!(waits.iter().all(|wait| *wait < Duration::from_millis(380)), "{waits:?}");
}

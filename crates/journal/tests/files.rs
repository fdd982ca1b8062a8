//! The files that belong to an open journal: kept from the process's own tools and commands, missed when
//! they are gone, and gone when it is closed.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod support;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use support::{Place, effect, success, task};
use toolwright_journal::{
    Access, Journal, JournalError, Location, Options, Order, SqliteError, SqliteErrorKind,
    Synchronous,
};

const BESIDE: [&str; 5] = ["", "-journal", "-shm", "-wal", ".locks"];

fn beside(place: &Place, suffix: &str) -> std::path::PathBuf {
    let mut name = fs::canonicalize(place.base.path()).unwrap().join("runs.db").into_os_string();
    name.push(suffix);
    name.into()
}

fn is_reserved(path: &Path) -> bool {
    let metadata = fs::symlink_metadata(path).unwrap();
    toolwright_reserved::holds(metadata.dev(), metadata.ino())
}

fn removed(result: Result<impl std::fmt::Debug, JournalError>) -> String {
    match result {
        Err(JournalError::Sqlite(SqliteError { kind: SqliteErrorKind::Removed, path, .. })) => {
            path.file_name().unwrap().to_string_lossy().into_owned()
        }
        other => panic!("not told: {other:?}"),
    }
}

#[test]
fn all_of_them_are_there_and_reserved_as_long_as_it_is_open() {
    let place = Place::new();
    let journal = place.open();
    for suffix in BESIDE {
        assert!(is_reserved(&beside(&place, suffix)), "{suffix}");
    }
    let lock = journal.lock_task(&task("t"), 1).unwrap();
    let call = journal.begin(effect(&task("t"), 1, 1)).unwrap();
    journal.finish(call, success("done")).unwrap();
    drop(lock);
    // Though the last lock is given back.
    assert!(is_reserved(&beside(&place, ".locks")));

    let second = place.open();
    journal.close().unwrap();
    for suffix in BESIDE {
        assert!(is_reserved(&beside(&place, suffix)), "{suffix} of the second");
    }
    second.close().unwrap();
    assert_eq!(place.names(), ["runs.db"]);
    assert!(!is_reserved(&place.file()));
}

#[test]
fn one_that_is_only_read_is_reserved_too() {
    let place = Place::new();
    drop(place.open());
    let options = Options { access: Access::ReadOnly, ..Options::default() };
    let journal = Journal::open(&Location::File(place.file()), options).unwrap();
    assert!(is_reserved(&place.file()));
    drop(journal);
    assert!(!is_reserved(&place.file()));
}

#[test]
fn a_file_that_is_gone_is_missed_before_a_call_is_told_to_be_recorded() {
    for (suffix, synchronous) in [
        ("", Synchronous::Normal),
        ("-wal", Synchronous::Normal),
        ("-shm", Synchronous::Normal),
        ("-wal", Synchronous::Full),
    ] {
        for replaced in [false, true] {
            let place = Place::new();
            let options = Options { synchronous, ..Options::default() };
            let journal = Journal::open(&Location::File(place.file()), options).unwrap();
            let call = journal.begin(effect(&task("t"), 1, 1)).unwrap();
            let path = beside(&place, suffix);
            let bytes = fs::read(&path).unwrap();
            fs::rename(&path, place.base.path().join("moved")).unwrap();
            if replaced {
                fs::write(&path, bytes).unwrap();
            }
            let name = format!("runs.db{suffix}");
            assert_eq!(removed(journal.begin(effect(&task("t"), 1, 2))), name);
            assert_eq!(removed(journal.finish(call, success("done"))), name);
            assert_eq!(removed(journal.record(effect(&task("t"), 1, 3), success(""))), name);
            let mut read = effect(&task("t"), 1, 4);
            read.side_effect = false;
            journal.record(read, success("")).unwrap();
            assert_eq!(removed(journal.flush()), name);
        }
    }
}

/// The index of the log is mapped: touching what was cut off is a bus error.
#[test]
fn an_index_that_was_cut_is_told_and_does_not_end_the_process() {
    for length in [0, 3, 4096] {
        let place = Place::new();
        let journal = place.open();
        let call = journal.begin(effect(&task("t"), 1, 1)).unwrap();
        let index = fs::File::options().write(true).open(beside(&place, "-shm")).unwrap();
        index.set_len(length).unwrap();
        assert_eq!(removed(journal.finish(call, success("done"))), "runs.db-shm");
        assert_eq!(removed(journal.list_run("run", Order::Forward, false)), "runs.db-shm");
        assert_eq!(removed(journal.recover("{}")), "runs.db-shm");
        // As closing it would touch the index, it is left as it is.
        removed(journal.close());
    }
}

#[test]
fn locks_of_the_dead_are_cleared_and_those_of_the_living_are_not() {
    let place = Place::new();
    let journal = place.open();
    let locks = beside(&place, ".locks");
    let lock = journal.lock_task(&task("held"), 1).unwrap();
    let before = fs::read_dir(&locks).unwrap().count();
    for number in 0..50 {
        fs::write(locks.join(format!("task-{number:032x}")), "attempt 1, process 4").unwrap();
        fs::write(locks.join(format!("open-{number:032x}")), "").unwrap();
    }
    fs::write(locks.join("notes.txt"), "somebody's").unwrap();
    journal.recover("{}").unwrap();
    assert_eq!(fs::read_dir(&locks).unwrap().count(), before + 1);
    assert!(journal.lock_task(&task("held"), 1).is_err());
    drop(lock);
}

#[test]
fn what_a_killed_process_left_goes_with_the_next_that_closes() {
    let place = Place::new();
    drop(place.open());
    fs::write(beside(&place, "-journal"), "").unwrap();
    fs::create_dir(beside(&place, ".locks")).unwrap();
    fs::write(beside(&place, ".locks").join("open-0123"), "").unwrap();
    let journal = place.open();
    journal.recover("{}").unwrap();
    journal.close().unwrap();
    assert_eq!(place.names(), ["runs.db"]);
}

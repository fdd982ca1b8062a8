//! A system that refuses while a journal is open: what was confirmed stays, what failed is told.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a failed unwrap is a failed test")]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use support::{Kind, Place, effect, filled, integrity, open, reading, refused, success, task};
use toolwright_journal::{Journal, JournalError, Location, Options, Order, Status, Synchronous};

#[test]
fn a_writer_that_does_not_end_is_waited_for_so_long() {
    let place = filled(1);
    let options = Options { busy_timeout: Duration::from_millis(200), ..Options::default() };
    let journal = Journal::open(&Location::File(place.file()), options).unwrap();
    let raw = place.raw();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    let started = std::time::Instant::now();
    let error = refused(journal.begin(effect(&task("t"), 2, 1)), "Busy");
    let text = error.to_string();
    let waited: u32 =
        text.rsplit_once("waited ").unwrap().1.trim_end_matches(" ms").parse().unwrap();
    assert!((200..5000).contains(&waited) && started.elapsed() < Duration::from_secs(5));
    assert_eq!(journal.list(&task("t"), false).unwrap().calls.len(), 1, "readers do not wait");
    journal.record(reading(&task("t"), 2, 2), success("text")).unwrap();
    refused(journal.flush(), "Busy");
    raw.execute_batch("ROLLBACK").unwrap();
    journal.flush().unwrap();
    assert_eq!(journal.list(&task("t"), false).unwrap().calls.len(), 2, "it waited in the queue");
    journal.begin(effect(&task("t"), 2, 1)).unwrap();
}

/// This program again, running `test` in mount and user namespaces of its own; `false` where the
/// system does not allow that.
fn unshared(test: &str, place: &Place) -> bool {
    let possible = Command::new("unshare").args(["-rm", "true"]).status();
    if !possible.is_ok_and(|status| status.success()) {
        println!("skipped: no user namespaces here");
        return false;
    }
    let program = support::child(test, "");
    let status = Command::new("unshare")
        .arg("-rm")
        .arg(program.get_program())
        .args(program.get_args())
        .env("TOOLWRIGHT_CHILD", place.base.path())
        .status()
        .unwrap();
    assert!(status.success());
    true
}

#[test]
fn a_full_disk_is_told_and_what_was_written_stays() {
    const TEST: &str = "a_full_disk_is_told_and_what_was_written_stays";
    let Some(base) = support::child_argument() else {
        unshared(TEST, &Place::new());
        return;
    };
    let arguments = ["-t", "tmpfs", "-o", "size=400k", "none", &base];
    assert!(Command::new("mount").args(arguments).status().unwrap().success());
    let path = Path::new(&base).join("runs.db");
    let journal = open(&path).unwrap();
    let begun = journal.begin(effect(&task("t"), 1, 0)).unwrap();
    let mut written = 0;
    let error = loop {
        let call = match journal.begin(effect(&task("t"), 1, written + 1)) {
            Ok(call) => call,
            Err(error) => break error,
        };
        match journal.finish(call, success(&"x".repeat(3000))) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 1000);
    };
    refused::<()>(Err(error), "Full");
    assert!(written > 10, "{written}");
    // Behind, too: the row waits, and is written when there is room.
    journal.record(reading(&task("reads"), 1, 1), success(&"x".repeat(100_000))).unwrap();
    refused(journal.flush(), "Full");
    let calls = journal.list(&task("t"), false).unwrap().calls;
    let finished = calls.iter().filter(|call| call.status == Status::Success).count();
    assert_eq!(i64::try_from(finished).unwrap(), written, "what was confirmed, and no more");
    refused(open(&Path::new(&base).join("another.db")), "Full");

    // The disk gets room again, and the journal goes on.
    let remount = ["-o", "remount,size=4m", &base];
    assert!(Command::new("mount").args(remount).status().unwrap().success());
    journal.finish(begun, success("late")).unwrap();
    journal.flush().unwrap();
    assert_eq!(journal.list(&task("reads"), false).unwrap().calls.len(), 1);
    journal.close().unwrap();
    integrity(&path);
}

#[test]
fn reads_that_could_never_be_written_are_told_when_closing() {
    const TEST: &str = "reads_that_could_never_be_written_are_told_when_closing";
    let Some(base) = support::child_argument() else {
        unshared(TEST, &Place::new());
        return;
    };
    let arguments = ["-t", "tmpfs", "-o", "size=300k", "none", &base];
    assert!(Command::new("mount").args(arguments).status().unwrap().success());
    let path = Path::new(&base).join("runs.db");
    let options = Options { queue_rows: 5, ..Options::default() };
    let journal = Journal::open(&Location::File(path), options).unwrap();
    let mut accepted = 0;
    let error = (1..100)
        .find_map(|seq| {
            let row = reading(&task("reads"), 1, seq);
            let result = journal.record(row, success(&"x".repeat(50_000)));
            accepted += usize::from(result.is_ok());
            result.err()
        })
        .unwrap();
    refused::<()>(Err(error), "Full");
    let listed = journal.list(&task("reads"), false).unwrap().calls.len();
    let lost = refused(journal.close(), "Unwritten");
    let JournalError::Unwritten { rows, source, .. } = lost else { panic!("{lost}") };
    assert_eq!((rows, source.kind()), (accepted - listed, "Full"));
}

#[test]
fn a_limit_on_the_size_of_files_is_told() {
    const TEST: &str = "a_limit_on_the_size_of_files_is_told";
    let Some(base) = support::child_argument() else {
        let place = Place::new();
        let program = support::child(TEST, "");
        // The signal that comes with the limit is ignored, as every program has to do that wants
        // to see the error.
        let status = Command::new("sh")
            .args(["-c", "trap '' XFSZ; ulimit -f 2000; exec \"$0\" \"$@\""])
            .arg(program.get_program())
            .args(program.get_args())
            .env("TOOLWRIGHT_CHILD", place.base.path())
            .status()
            .unwrap();
        assert!(status.success());
        integrity(&place.file());
        assert!(place.open().list(&task("t"), false).unwrap().calls.len() > 10);
        return;
    };
    let journal = open(&Path::new(&base).join("runs.db")).unwrap();
    let error = (1..2000)
        .find_map(|seq| {
            let call = match journal.begin(effect(&task("t"), 1, seq)) {
                Ok(call) => call,
                Err(error) => return Some(error),
            };
            journal.finish(call, success(&"x".repeat(3000))).err()
        })
        .unwrap();
    assert!(["Io", "Full"].contains(&error.kind()), "{error}");
    assert!(!journal.list(&task("t"), false).unwrap().calls.is_empty());
}

#[test]
fn a_journal_that_was_removed_takes_no_more_calls() {
    let place = Place::new();
    let journal = place.open();
    let call = journal.begin(effect(&task("t"), 1, 1)).unwrap();
    let other = place.base.path().join("other.db");
    fs::rename(place.file(), &other).unwrap();
    refused(journal.begin(effect(&task("t"), 1, 2)), "Removed");
    refused(journal.record(effect(&task("t"), 1, 2), success("")), "Removed");
    refused(journal.finish(call, success("")), "Removed");
    fs::write(place.file(), "").unwrap();
    refused(journal.begin(effect(&task("t"), 1, 2)), "Removed");
    fs::rename(&other, place.file()).unwrap();
    journal.finish(call, success("done")).unwrap();
    journal.begin(effect(&task("t"), 1, 2)).unwrap();
}

#[test]
fn a_lock_that_cannot_be_made_is_told() {
    let place = Place::new();
    let journal = place.open();
    let locks = place.base.path().join("runs.db.locks");
    fs::remove_dir_all(&locks).unwrap();
    fs::write(locks, "").unwrap();
    let error = refused(journal.lock_task(&task("t"), 1), "Lock");
    assert!(error.path().unwrap().starts_with(place.file().with_extension("db.locks")));
    refused(journal.begin(effect(&task("t"), 1, 1)), "Lock");
}

#[test]
fn a_journal_that_syncs_keeps_the_same_promises() {
    let place = Place::new();
    let options = Options { synchronous: Synchronous::Full, ..Options::default() };
    let journal = Journal::open(&Location::File(place.file()), options).unwrap();
    std::thread::scope(|scope| {
        for node in ["a", "b", "c", "d"] {
            let journal = &journal;
            scope.spawn(move || {
                for seq in 1..=5 {
                    let call = journal.begin(effect(&task(node), 1, seq)).unwrap();
                    journal.finish(call, success("done")).unwrap();
                }
            });
        }
    });
    assert_eq!(journal.list_run("run", Order::Forward, false).unwrap().calls.len(), 20);
}

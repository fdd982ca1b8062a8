//! Writing for a caller that must not wait.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::allow_attributes,
    reason = "a failed unwrap is a failed test"
)]

mod support;

use std::time::{Duration, Instant};

use support::{Place, effect, reading, success, task};
use toolwright_journal::{
    Journal, JournalError, Location, Options, SqliteError, SqliteErrorKind, Status, Synchronous,
};

fn done<T>(tried: Result<Option<T>, JournalError>) -> Result<T, JournalError> {
    tried.map(|written| written.expect("it need not wait"))
}

fn waits<T>(tried: &Result<Option<T>, JournalError>) -> bool {
    matches!(tried, Ok(None))
}

#[test]
fn rows_are_written_at_once_after_the_first() {
    let place = Place::new();
    let journal = place.open();
    let task = task("fix");
    // The first makes the journal an owner of rows, for which it waits.
    assert!(waits(&journal.try_begin_nowait(&effect(&task, 1, 1))));
    journal.begin(effect(&task, 1, 1)).unwrap();
    let call = done(journal.try_begin_nowait(&effect(&task, 1, 2))).unwrap();
    done(journal.try_finish_nowait(call, &success("done"))).unwrap();
    done(journal.try_record_nowait(&reading(&task, 1, 3), &success("text"))).unwrap();
    let states: Vec<_> =
        journal.list(&task, false).unwrap().calls.iter().map(|call| call.status).collect();
    assert_eq!(states, [Status::Started, Status::Success, Status::Success]);
    let again = done(journal.try_begin_nowait(&effect(&task, 1, 2)));
    assert!(matches!(again, Err(JournalError::Duplicate { .. })), "{again:?}");
    let again = done(journal.try_finish_nowait(call, &success("done")));
    assert!(matches!(again, Err(JournalError::Finished { .. })), "{again:?}");
}

#[test]
fn a_journal_in_memory_never_waits() {
    let journal = Journal::open(&Location::Memory, Options::default()).unwrap();
    let call = done(journal.try_begin_nowait(&effect(&task("fix"), 1, 1))).unwrap();
    done(journal.try_finish_nowait(call, &success("done"))).unwrap();
}

#[test]
fn while_another_writes_the_row_comes_back_soon() {
    let place = Place::new();
    let journal = place.open();
    let task = task("fix");
    let call = journal.begin(effect(&task, 1, 1)).unwrap();
    let raw = place.raw();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    let started = Instant::now();
    assert!(waits(&journal.try_begin_nowait(&effect(&task, 1, 2))));
    assert!(waits(&journal.try_finish_nowait(call, &success("done"))));
    // Generous: this machine has other things to do.
    assert!(started.elapsed() < Duration::from_millis(500), "{:?}", started.elapsed());
    // What waits for nobody is taken on.
    done(journal.try_record_nowait(&reading(&task, 1, 3), &success("text"))).unwrap();
    raw.execute_batch("COMMIT").unwrap();
    journal.finish(call, success("done")).unwrap();
    assert_eq!(journal.list(&task, false).unwrap().calls.len(), 2);
}

#[test]
fn a_full_queue_gives_rows_back() {
    let place = Place::new();
    let options = Options { queue_rows: 4, ..Options::default() };
    let journal = Journal::open(&Location::File(place.file()), options).unwrap();
    let task = task("fix");
    let raw = place.raw();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    let seq = (1..=100)
        .find(|seq| waits(&journal.try_record_nowait(&reading(&task, 1, *seq), &success("text"))))
        .expect("the queue is full after a few");
    raw.execute_batch("COMMIT").unwrap();
    journal.record(reading(&task, 1, seq), success("text")).unwrap();
    assert_eq!(i64::try_from(journal.list(&task, false).unwrap().calls.len()).unwrap(), seq);
}

#[test]
fn what_takes_long_is_not_done_at_once() {
    let place = Place::new();
    let task = task("fix");
    let options = Options { synchronous: Synchronous::Full, ..Options::default() };
    let safe = Journal::open(&Location::File(place.file()), options).unwrap();
    safe.begin(effect(&task, 1, 1)).unwrap();
    assert!(waits(&safe.try_begin_nowait(&effect(&task, 1, 2))), "it waits for the disk");
    let journal = place.open();
    let call = journal.begin(effect(&task, 2, 1)).unwrap();
    let large = success(&"x".repeat(100_000));
    assert!(waits(&journal.try_finish_nowait(call, &large)), "a large row takes its time");
    assert!(
        waits(&journal.try_record_nowait(&effect(&task, 2, 2), &success(""))),
        "an effect is not written behind"
    );
}

#[test]
fn failures_are_told_at_once() {
    let place = Place::new();
    let journal = place.open();
    let task = task("fix");
    journal.begin(effect(&task, 1, 1)).unwrap();
    std::fs::remove_file(place.file()).unwrap();
    let removed = done(journal.try_begin_nowait(&effect(&task, 1, 2)));
    assert!(
        matches!(
            removed,
            Err(JournalError::Sqlite(SqliteError { kind: SqliteErrorKind::Removed, .. }))
        ),
        "{removed:?}"
    );
    journal.close().unwrap_or_default();
    let closed = done(journal.try_record_nowait(&reading(&task, 1, 3), &success("")));
    assert!(
        matches!(
            closed,
            Err(JournalError::Sqlite(SqliteError { kind: SqliteErrorKind::Closed, .. }))
        ),
        "{closed:?}"
    );
}

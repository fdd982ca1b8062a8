//! Several processes on one file.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a failed unwrap is a failed test")]

mod support;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, fcntl_lock};
use support::{Kind, Place, effect, ended, open, reading, success, task, tenth_of};
use toolwright_journal::{Journal, Location, Options, Outcome, Status};

/// A child that has said its first word.
fn started(test: &str, argument: &str) -> Child {
    let mut child = support::child(test, argument)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    while lines.next().unwrap().unwrap() != "ready" {}
    child
}

/// Says that it has begun, and waits until its parent wants it to end.
fn ready_until_told() {
    println!("\nready");
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn eight_processes_append_to_one_file() {
    const TEST: &str = "eight_processes_append_to_one_file";
    let each = i64::try_from(tenth_of(10_000)).unwrap();
    if let Some(argument) = support::child_argument() {
        let (path, node) = argument.split_once('|').unwrap();
        // All at once on a file that is not there yet: they create it together.
        let journal = open(Path::new(path)).unwrap();
        for seq in 1..=each {
            if seq % 2 == 0 {
                journal.record(reading(&task(node), 1, seq), success("text")).unwrap();
            } else {
                let call = journal.begin(effect(&task(node), 1, seq)).unwrap();
                journal.finish(call, success("done")).unwrap();
            }
        }
        journal.close().unwrap();
        return;
    }
    let place = Place::new();
    let started = Instant::now();
    let children: Vec<Child> = (0..8)
        .map(|number| {
            let argument = format!("{}|node {number}", place.file().display());
            support::child(TEST, &argument).stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    println!("8 x {each} rows in {:?}", started.elapsed());
    support::integrity(&place.file());
    let journal = place.open();
    let mut last_row = BTreeMap::new();
    for call in journal.tail(0, usize::MAX).unwrap() {
        assert_eq!(call.status, Status::Success);
        // Within each kind the rows of a task are in the order of its calls.
        let key = (call.task.node_id.clone(), call.side_effect);
        let before = last_row.insert(key, call.seq);
        assert!(before.is_none_or(|before| before < call.seq), "{call:?}");
    }
    for number in 0..8 {
        let calls = journal.list(&task(&format!("node {number}")), false).unwrap().calls;
        let expected: Vec<_> = (1..=each).collect();
        assert_eq!(calls.iter().map(|call| call.seq).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_lock_excludes_other_processes_and_dies_with_its_holder() {
    const TEST: &str = "a_lock_excludes_other_processes_and_dies_with_its_holder";
    if let Some(path) = support::child_argument() {
        let journal = open(Path::new(&path)).unwrap();
        let _lock = journal.lock_task(&task("t"), 1).unwrap();
        return ready_until_told();
    }
    let place = Place::new();
    let journal = place.open();
    let mut child = started(TEST, place.file().to_str().unwrap());
    let error = journal.lock_task(&task("t"), 2).unwrap_err();
    assert_eq!(error.kind(), "TaskLocked");
    let holder = format!("(attempt 1, process {})", child.id());
    assert!(error.to_string().contains(&holder), "{error}");
    drop(journal.lock_task(&task("another"), 1).unwrap());
    child.kill().unwrap();
    child.wait().unwrap();
    let lock = journal.lock_task(&task("t"), 2).unwrap();
    assert_eq!(journal.lock_task(&task("t"), 2).unwrap_err().kind(), "TaskLocked");
    drop(lock);
    drop(journal.lock_task(&task("t"), 2).unwrap());
}

#[test]
fn rows_of_a_live_process_are_left_alone() {
    const TEST: &str = "rows_of_a_live_process_are_left_alone";
    if let Some(path) = support::child_argument() {
        let journal = open(Path::new(&path)).unwrap();
        let call = journal.begin(effect(&task("child"), 1, 1)).unwrap();
        ready_until_told();
        journal.finish(call, success("done")).unwrap();
        return;
    }
    let place = Place::new();
    let journal = place.open();
    let status = |node: &str| journal.find(&task(node), 1, 1).unwrap().unwrap().status;
    let own = journal.begin(effect(&task("own"), 1, 1)).unwrap();
    let mut child = started(TEST, place.file().to_str().unwrap());
    for _ in 0..2 {
        let recovered = journal.recover("{}").unwrap();
        assert_eq!((recovered.calls.len(), recovered.alive, recovered.undecided), (0, 1, 0));
    }
    assert_eq!((status("own"), status("child")), (Status::Started, Status::Started));

    // Also when the directory was copied while it runs: then its pid tells that it lives.
    let copy = Place::new();
    let copied = std::process::Command::new("cp")
        .arg("-r")
        .arg(place.base.path().join("."))
        .arg(copy.base.path())
        .status()
        .unwrap();
    assert!(copied.success());
    let other = copy.open();
    assert_eq!(other.recover("{}").unwrap().calls, [0_i64; 0]);

    drop(child.stdin.take()); // its sign to go on
    assert!(child.wait().unwrap().success());
    assert_eq!((status("own"), status("child")), (Status::Started, Status::Success));
    // In the copy nobody will ever finish it.
    let recovered = other.recover("{}").unwrap();
    assert_eq!(recovered.calls.len(), 1, "{recovered:?}");
    journal.finish(own, success("done")).unwrap();
}

#[test]
fn rows_of_another_machine_are_left_alone() {
    let place = Place::new();
    let journal = place.open();
    let raw = place.raw();
    raw.execute_batch(
        "INSERT INTO _toolwright_owners (id, machine, boot, pid_namespace, pid, process_start,
             lock_name, lock_device, lock_inode, rows_after, opened_at_ms)
         VALUES (41, 'another', 'boot', 'pid:[1]', 1, 1, 'owner-1', 1, 1, 0, 0),
             (42, NULL, NULL, NULL, NULL, NULL, '../../etc/passwd', NULL, NULL, 0, 0);
         INSERT INTO _smithers_tool_calls (run_id, node_id, attempt, seq, tool_name, started_at_ms,
             status, tw_owner)
         VALUES ('run', 'a', 1, 1, 'bash', 0, 'started', 41),
             ('run', 'b', 1, 1, 'bash', 0, 'started', 42),
             ('run', 'c', 1, 1, 'bash', 0, 'started', NULL),
             ('run', 'd', 1, 1, 'bash', 0, 'intended', NULL)",
    )
    .unwrap();
    let recovered = journal.recover("{}").unwrap();
    assert_eq!((recovered.calls.len(), recovered.undecided), (0, 2));
    assert_eq!(journal.list_runs().unwrap()[0].started, 4);
    // Whoever retries is warned of them all the same.
    assert_eq!(journal.prior_effects(&task("a"), 2).unwrap().len(), 1);
}

/// A row of an owner that ran before this machine was started again.
const OWNER_OF_ANOTHER_BOOT: &str =
    "INSERT INTO _toolwright_owners (id, machine, boot, pid, lock_name, rows_after, opened_at_ms)
     SELECT 41, machine, 'another boot', 1, 'owner-1', 0, 0 FROM _toolwright_owners LIMIT 1";

#[test]
fn recovery_takes_a_turn_to_write_only_for_what_it_found() {
    let place = Place::new();
    let journal = place.open();
    let call = journal.begin(effect(&task("own"), 1, 1)).unwrap();
    let raw = place.raw();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begun = std::time::Instant::now();
    assert_eq!(journal.recover("{}").unwrap().calls, [0_i64; 0]);
    assert!(begun.elapsed() < std::time::Duration::from_secs(1), "nobody waited for the writer");
    raw.execute_batch(&format!("ROLLBACK; {OWNER_OF_ANOTHER_BOOT}")).unwrap();
    journal.finish(call, success("done")).unwrap();
}

#[test]
fn only_open_rows_of_the_owner_that_is_gone_are_marked_and_once() {
    let place = Place::new();
    let journal = place.open();
    journal.begin(effect(&task("own"), 1, 1)).unwrap();
    let raw = place.raw();
    raw.execute_batch(&format!(
        "{OWNER_OF_ANOTHER_BOOT};
         INSERT INTO _smithers_tool_calls (run_id, node_id, attempt, seq, tool_name, started_at_ms,
             status, tw_owner, tw_revert_owner, revert_status)
         VALUES ('run', 'open', 1, 1, 'bash', 0, 'started', 41, NULL, NULL),
             ('run', 'done', 1, 1, 'bash', 0, 'success', 41, NULL, NULL),
             ('run', 'claimed again', 1, 1, 'bash', 0, 'started', 1, NULL, NULL),
             ('run', 'undone', 1, 1, 'bash', 0, 'success', 1, 41, 'reverting'),
             (x'00', 'no text', 1, 1, 'bash', 0, 'started', 41, NULL, NULL)"
    ))
    .unwrap();
    let recovered = journal.recover(r#"{"code":"PROCESS_DIED"}"#).unwrap();
    assert_eq!((recovered.calls, recovered.reverts), (vec![2, 6], vec![5]));
    assert_eq!(journal.recover("{}").unwrap(), toolwright_journal::Recovered::default());
    let open: i64 = raw
        .query_row(
            "SELECT count(*) FROM _smithers_tool_calls WHERE status = 'started'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(open, 2, "those of this process");
}

#[test]
fn a_journal_closed_in_the_middle_of_a_call_is_recovered_at_once() {
    let place = Place::new();
    let journal = place.open();
    let call = journal.begin(effect(&task("t"), 1, 1)).unwrap();
    journal.begin(effect(&task("t"), 1, 2)).unwrap();
    journal.finish(call, ended(Outcome::Unknown(None))).unwrap();
    journal.close().unwrap();
    let later = place.open();
    assert_eq!(later.recover("{}").unwrap().calls, [2]);
    later.close().unwrap();
    assert_eq!(place.names(), ["runs.db"]);
}

#[test]
fn a_process_that_ended_properly_needs_no_recovery() {
    let place = Place::new();
    for seq in 1..=3 {
        let journal = place.open();
        let call = journal.begin(effect(&task("t"), 1, seq)).unwrap();
        journal.finish(call, success("done")).unwrap();
    }
    let raw = place.raw();
    let open: i64 = raw
        .query_row("SELECT count(*) FROM _toolwright_owners WHERE ended_at_ms IS NULL", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(open, 0);
    drop(raw);
    assert_eq!(place.names(), ["runs.db"]);
}

/// A process that can only read the files can take shared locks on them. Who writes then waits as long as
/// it is told to and no longer, and goes on when the locks are given back.
#[test]
fn locks_of_a_reader_are_waited_for_as_long_as_was_said() {
    const TEST: &str = "locks_of_a_reader_are_waited_for_as_long_as_was_said";
    if let Some(argument) = support::child_argument() {
        let locked: Vec<File> = ["", "-wal", "-shm"]
            .map(|suffix| File::open(format!("{argument}{suffix}")).unwrap())
            .into();
        for file in &locked {
            fcntl_lock(file, FlockOperation::NonBlockingLockShared).unwrap();
        }
        ready_until_told();
        return;
    }
    let busy_timeout = Duration::from_millis(300);
    let place = Place::new();
    let options = Options { busy_timeout, ..Options::default() };
    let journal = Journal::open(&Location::File(place.file()), options).unwrap();
    let call = journal.begin(effect(&task("t"), 1, 1)).unwrap();
    let mut reader = started(TEST, &place.file().display().to_string());
    for _ in 0..2 {
        let before = Instant::now();
        let error = support::refused(journal.finish(call, success("done")), "Busy");
        let waited = before.elapsed();
        assert!(waited >= busy_timeout && waited < busy_timeout * 10, "{error} after {waited:?}");
        // Reading is not in the way of it.
        assert_eq!(journal.list(&task("t"), false).unwrap().calls.len(), 1);
    }
    reader.stdin.take().unwrap().write_all(b"end\n").unwrap();
    assert!(reader.wait().unwrap().success());
    journal.finish(call, success("done")).unwrap();
    assert_eq!(journal.list(&task("t"), false).unwrap().calls[0].status, Status::Success);
}

#[test]
fn others_write_while_recovery_reads_a_table_of_many_rows() {
    let place = Place::new();
    let journal = place.open();
    journal.begin(effect(&task("own"), 1, 1)).unwrap();
    place
        .raw()
        .execute_batch(&format!(
            "{OWNER_OF_ANOTHER_BOOT};
             INSERT INTO _smithers_tool_calls (run_id, node_id, attempt, seq, tool_name, started_at_ms,
                 status, tw_owner)
             VALUES ('run', 'open', 1, 1, 'bash', 0, 'started', 41);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
             INSERT INTO _smithers_tool_calls (run_id, node_id, attempt, seq, tool_name, started_at_ms,
                 status, tw_owner) SELECT 'others', 'n', 1, i, 'bash', 0, 'success', 7 FROM n;
             PRAGMA wal_checkpoint(TRUNCATE)"
        ))
        .unwrap();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let (written, busy) = std::thread::scope(|scope| {
        let beside = scope.spawn(|| {
            let raw = place.raw();
            // Whoever finds the lock taken is told, and does not wait.
            raw.busy_timeout(std::time::Duration::ZERO).unwrap();
            let (mut written, mut busy) = (0, 0);
            while !is_over.load(std::sync::atomic::Ordering::SeqCst) {
                match raw.execute_batch("BEGIN IMMEDIATE; COMMIT") {
                    Ok(()) => written += 1,
                    Err(_) => busy += 1,
                }
                // So that turns stand for time, and not for how fast one is refused.
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            (written, busy)
        });
        let recovered = journal.recover(r#"{"code":"PROCESS_DIED"}"#).unwrap();
        is_over.store(true, std::sync::atomic::Ordering::SeqCst);
        assert_eq!(recovered.calls.len(), 1);
        beside.join().unwrap()
    });
    println!("beside a recovery of 1,000,000 rows: {written} turns to write, {busy} refused");
    assert!(written > 4 * busy, "{busy} refused, {written} not");
    assert!(written > 20, "{written} turns");
}

#[test]
fn the_rows_that_recovery_marks_are_found_by_the_key_of_the_table() {
    let place = Place::new();
    drop(place.open());
    let raw = place.raw();
    let mut plan = raw
        .prepare(
            "EXPLAIN QUERY PLAN UPDATE _smithers_tool_calls SET status = 'unknown', error_json = ?1
             WHERE run_id = ?3 AND node_id = ?4 AND iteration = ?5 AND attempt = ?6 AND seq = ?7
                 AND tw_owner = ?2 AND status = 'started' RETURNING rowid",
        )
        .unwrap();
    let steps: Vec<String> = plan
        .query_map(rusqlite::params![1, 1, "r", "n", 0, 1, 1], |row| row.get(3))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let key = "run_id=? AND node_id=? AND iteration=? AND attempt=? AND seq=?";
    assert!(steps.iter().all(|step| step.contains("SEARCH") && step.contains(key)), "{steps:?}");
}

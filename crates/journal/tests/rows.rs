//! What is written is what is read, whoever reads it.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod support;

use std::time::{Duration, Instant};

use support::{Kind, Place, effect, ended, failure, open, reading, success, task};
use toolwright_journal::{
    Access, Call, CallRef, Intent, Journal, Location, Options, Order, Outcome, Status, TaskId,
};

fn memory() -> Journal {
    Journal::open(&Location::Memory, Options::default()).unwrap()
}

/// Runs the same test on a file and in memory.
fn both(test: impl Fn(&Journal)) {
    test(&memory());
    let place = Place::new();
    let journal = place.open();
    test(&journal);
    let open = journal.list_runs().unwrap().iter().any(|run| run.started > 0);
    journal.close().unwrap();
    // Calls without an outcome leave a lock that can be seen to be free.
    let left: &[&str] = if open { &["runs.db", "runs.db.locks"] } else { &["runs.db"] };
    assert_eq!(place.names(), left);
    support::integrity(&place.file());
}

fn only(journal: &Journal) -> Call {
    let mut calls = journal.tail(0, 10).unwrap();
    assert_eq!(calls.len(), 1);
    calls.remove(0)
}

#[test]
fn every_field_comes_back() {
    both(|journal| {
        let task = TaskId {
            run_id: "r: '\"; DROP TABLE x".to_owned(),
            node_id: "é|\0n".to_owned(),
            iteration: 4,
        };
        let intent = Intent {
            attempt: 3,
            has_revert: true,
            accepts_idempotency_key: false,
            idempotency_key: Some("key".to_owned()),
            call_token: Some("token".to_owned()),
            args_hash: Some("hash".to_owned()),
            ordinal: Some(2),
            ..effect(&task, 3, 7)
        };
        let begun = journal.begin(intent.clone()).unwrap();
        let call = only(journal);
        let CallRef { row, attempt, seq, started_at_ms } = begun;
        assert_eq!(
            (call.row, call.attempt, call.seq, call.started_at_ms),
            (row, attempt, seq, started_at_ms)
        );
        assert_eq!((call.task.clone(), call.attempt, call.seq), (task.clone(), 3, 7));
        assert_eq!((call.tool_name.as_str(), &call.input_json), ("bash", &intent.input_json));
        assert_eq!((call.status, call.status_text.as_str()), (Status::Started, "started"));
        assert_eq!((call.side_effect, call.idempotent), (Some(true), Some(false)));
        assert_eq!((call.accepts_idempotency_key, call.has_revert), (Some(false), Some(true)));
        assert_eq!(
            (call.idempotency_key.as_deref(), call.call_token.as_deref()),
            (Some("key"), Some("token"))
        );
        assert_eq!((call.args_hash.as_deref(), call.ordinal), (Some("hash"), Some(2)));
        assert_eq!((call.finished_at_ms, call.acted), (None, true));
        assert_eq!(call.kind.as_deref(), Some("tool"));

        journal.finish(begun, success("out")).unwrap();
        let call = only(journal);
        assert_eq!((call.status, call.status_text.as_str()), (Status::Success, "success"));
        assert_eq!(call.output_json.as_deref(), Some("\"out\""));
        assert_eq!((call.output_bytes, call.is_cut), (Some(5), false));
        assert_eq!(
            (call.started_at_ms, call.finished_at_ms),
            (intent.started_at_ms, Some(1_790_000_100_000))
        );
        assert_eq!(journal.find(&task, 3, 7).unwrap(), Some(call.clone()));
        assert_eq!(journal.list(&task, false).unwrap().calls, std::slice::from_ref(&call));
        assert_eq!(journal.rows(&[call.row, 99]).unwrap(), [call]);
        assert_eq!(journal.last_attempt(&task).unwrap(), Some((3, 7)));
    });
}

#[test]
fn every_outcome_has_its_status() {
    both(|journal| {
        let error = || Some("{}".to_owned());
        let outcomes = [
            (success(""), Status::Success, "success", true),
            (failure("no"), Status::Error, "error", true),
            (ended(Outcome::Rejected(error())), Status::Error, "error", false),
            (ended(Outcome::Unknown(error())), Status::Unknown, "unknown", true),
        ];
        for (seq, (finish, status, text, acted)) in (1..).zip(outcomes) {
            for (place, together) in [("begun", false), ("recorded", true)] {
                let intent = effect(&task(place), 1, seq);
                if together {
                    journal.record(intent, finish.clone()).unwrap();
                } else {
                    let call = journal.begin(intent).unwrap();
                    journal.finish(call, finish.clone()).unwrap();
                }
                let call = journal.find(&task(place), 1, seq).unwrap().unwrap();
                assert_eq!(
                    (call.status, call.status_text.as_str(), call.acted),
                    (status, text, acted)
                );
                assert_eq!(call.error_json.is_some(), status != Status::Success);
                assert_eq!(call.finished_at_ms, Some(finish.finished_at_ms));
            }
        }
        let summary = &journal.list_runs().unwrap()[0];
        assert_eq!(
            (summary.calls, summary.succeeded, summary.failed, summary.started),
            (8, 2, 4, 0)
        );
    });
}

#[test]
fn an_outcome_is_recorded_once_and_a_call_too() {
    both(|journal| {
        let call = journal.begin(effect(&task("t"), 1, 1)).unwrap();
        let again = journal.begin(effect(&task("t"), 1, 1)).unwrap_err();
        assert_eq!(again.kind(), "Duplicate");
        // What was given up may still tell; what is known is known.
        journal.finish(call, ended(Outcome::Unknown(None))).unwrap();
        journal.finish(call, success("late")).unwrap();
        let twice = journal.finish(call, failure("no")).unwrap_err();
        assert_eq!(twice.kind(), "Finished");
        assert_eq!(only(journal).status, Status::Success);
        for other in [
            toolwright_journal::CallRef { row: 99, ..call },
            toolwright_journal::CallRef { seq: 2, ..call },
        ] {
            let missing = journal.finish(other, success("")).unwrap_err();
            assert_eq!(missing.kind(), "Missing");
        }
    });
}

#[test]
fn a_token_that_is_taken_loses_no_call() {
    both(|journal| {
        // Also where the ids hold what might separate them.
        let named = |run_id: &str, node_id: &str| TaskId {
            run_id: run_id.to_owned(),
            node_id: node_id.to_owned(),
            iteration: 0,
        };
        let tasks = [task("t"), named("a/b", "c"), named("a", "b/c"), named("a b", "c"), task("t")];
        for (seq, task) in (1..).zip(&tasks) {
            let intent = Intent { call_token: Some("call-1".to_owned()), ..effect(task, 1, seq) };
            journal.begin(intent).unwrap();
        }
        let calls = journal.tail(0, 10).unwrap();
        let tokens: Vec<_> = calls.into_iter().filter_map(|call| call.call_token).collect();
        assert_eq!(tokens.iter().collect::<std::collections::HashSet<_>>().len(), tasks.len());
        assert_eq!(tokens[0], "call-1");
        assert!(tokens[1..].iter().all(|token| token.starts_with("call-1 ")), "{tokens:?}");
    });
}

#[test]
fn outputs_and_errors_are_cut_to_the_limit() {
    let options = Options { output_limit: 1000, ..Options::default() };
    let journal = Journal::open(&Location::Memory, options).unwrap();
    let long = "é\n".repeat(1000);
    let call = journal.begin(effect(&task("t"), 1, 1)).unwrap();
    journal.finish(call, success(&long)).unwrap();
    journal.record(effect(&task("t"), 1, 2), failure(&"x".repeat(5000))).unwrap();
    let calls = journal.list(&task("t"), false).unwrap().calls;
    let output = calls[0].output_json.as_ref().unwrap();
    assert!(
        output.len() <= 1000 && output.starts_with(r#"{"truncated":true,"bytes":4002,"#),
        "{output}"
    );
    assert_eq!((calls[0].output_bytes, calls[0].is_cut), (Some(4002), true));
    assert!(calls[1].error_json.as_ref().unwrap().len() <= 1000);
}

#[test]
fn lists_are_in_order() {
    both(|journal| {
        for (attempt, seq, node) in
            [(2, 1, "a"), (1, 2, "a"), (1, 1, "b"), (1, 1, "a"), (2, 2, "a")]
        {
            journal.begin(effect(&task(node), attempt, seq)).unwrap();
        }
        let places = |calls: Vec<Call>| -> Vec<_> {
            calls.into_iter().map(|call| (call.attempt, call.seq, call.task.node_id)).collect()
        };
        let of = |list: &[(i64, i64, &str)]| -> Vec<_> {
            list.iter().map(|(attempt, seq, node)| (*attempt, *seq, (*node).to_owned())).collect()
        };
        assert_eq!(
            places(journal.list(&task("a"), false).unwrap().calls),
            of(&[(1, 1, "a"), (1, 2, "a"), (2, 1, "a"), (2, 2, "a")])
        );
        // All calls number 1 began at the same time here.
        let forward = places(journal.list_run("run", Order::Forward, false).unwrap().calls);
        assert_eq!(forward, of(&[(1, 1, "a"), (1, 1, "b"), (2, 1, "a"), (1, 2, "a"), (2, 2, "a")]));
        let mut backward = places(journal.list_run("run", Order::Reverse, false).unwrap().calls);
        backward.reverse();
        assert_eq!(forward, backward);
        let written = journal.tail(0, 2).unwrap();
        assert_eq!(places(written.clone()), of(&[(2, 1, "a"), (1, 2, "a")]));
        assert_eq!(places(journal.tail(written[1].row, 100).unwrap()).len(), 3);
        assert_eq!(journal.last_row().unwrap(), 5);
    });
}

#[test]
fn runs_are_summed_up() {
    both(|journal| {
        for (run, count) in [("later", 2), ("earlier", 3)] {
            for seq in 1..=count {
                let task = TaskId { run_id: run.to_owned(), ..task("t") };
                let mut intent = effect(&task, 1, seq);
                intent.started_at_ms = if run == "later" { 2000 } else { 1000 } + seq;
                let call = journal.begin(intent).unwrap();
                if seq > 1 {
                    journal.finish(call, success("")).unwrap();
                }
            }
        }
        let runs = journal.list_runs().unwrap();
        let listed: Vec<_> = runs
            .iter()
            .map(|run| {
                (run.run_id.as_str(), run.calls, run.started, run.succeeded, run.started_at_ms)
            })
            .collect();
        assert_eq!(listed, [("earlier", 3, 1, 2, 1001), ("later", 2, 1, 1, 2001)]);
        assert_eq!(runs[0].finished_at_ms, Some(1_790_000_100_000));
    });
}

#[test]
fn reads_are_written_behind_and_seen_at_once() {
    let place = Place::new();
    let options = Options { flush_within: Duration::from_secs(60), ..Options::default() };
    let journal = Journal::open(&Location::File(place.file()), options).unwrap();
    let raw = place.raw();
    let count = || {
        raw.query_row("SELECT count(*) FROM _smithers_tool_calls", [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    for seq in 1..=100 {
        journal.record(reading(&task("t"), 1, seq), success("text")).unwrap();
    }
    assert_eq!(count(), 0, "not on disk yet");
    assert_eq!(journal.list(&task("t"), false).unwrap().calls.len(), 100, "listed");
    assert_eq!(count(), 100, "and so on disk");
    journal.record(reading(&task("t"), 1, 101), success("text")).unwrap();
    journal.flush().unwrap();
    assert_eq!(count(), 101);
    journal.record(effect(&task("t"), 1, 102), success("done")).unwrap();
    assert_eq!(count(), 102, "an effect waits for nobody");
    journal.record(reading(&task("t"), 1, 103), success("text")).unwrap();
    journal.close().unwrap();
    assert_eq!(count(), 103);
}

#[test]
fn reads_are_on_disk_within_the_time_set() {
    let place = Place::new();
    let journal = place.open();
    let raw = place.raw();
    journal.record(reading(&task("t"), 1, 1), success("text")).unwrap();
    let started = Instant::now();
    while raw
        .query_row("SELECT count(*) FROM _smithers_tool_calls", [], |row| row.get::<_, i64>(0))
        .unwrap()
        == 0
    {
        assert!(started.elapsed() < Duration::from_secs(2), "25 ms were promised");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn more_reads_than_the_queue_holds_are_all_written() {
    let place = Place::new();
    let options = Options { queue_rows: 10, ..Options::default() };
    let journal = Journal::open(&Location::File(place.file()), options).unwrap();
    std::thread::scope(|scope| {
        for node in ["a", "b", "c", "d"] {
            let journal = &journal;
            scope.spawn(move || {
                for seq in 1..=500 {
                    journal.record(reading(&task(node), 1, seq), success("text")).unwrap();
                }
            });
        }
    });
    for node in ["a", "b", "c", "d"] {
        let calls = journal.list(&task(node), false).unwrap().calls;
        assert_eq!(calls.len(), 500);
        assert!(calls.is_sorted_by_key(|call| call.row), "in the order of the task");
    }
}

#[test]
fn a_read_that_is_recorded_twice_is_told_at_the_next_flush() {
    let journal = memory();
    for seq in [1, 1, 2] {
        journal.record(reading(&task("t"), 1, seq), success("text")).unwrap();
    }
    let error = journal.flush().unwrap_err();
    assert_eq!(error.kind(), "Unwritten");
    assert!(error.to_string().contains("Call is already in the journal"), "{error}");
    journal.flush().unwrap();
    assert_eq!(journal.list(&task("t"), false).unwrap().calls.len(), 2);
}

#[test]
fn after_closing_everything_is_refused() {
    let place = Place::new();
    let journal = place.open();
    let call = journal.begin(effect(&task("t"), 1, 1)).unwrap();
    journal.finish(call, success("")).unwrap();
    journal.close().unwrap();
    journal.close().unwrap();
    let closed = [
        journal.begin(effect(&task("t"), 1, 2)).unwrap_err(),
        journal.finish(call, success("")).unwrap_err(),
        journal.record(reading(&task("t"), 1, 2), success("")).unwrap_err(),
        journal.list(&task("t"), false).unwrap_err(),
        journal.recover("{}").unwrap_err(),
    ];
    for error in closed {
        assert_eq!(error.kind(), "Closed");
    }
}

#[test]
fn a_hundred_thousand_rows_are_listed() {
    let place = Place::new();
    let journal = place.open();
    let raw = place.raw();
    raw.execute_batch(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
         INSERT INTO _smithers_tool_calls (run_id, node_id, attempt, seq, tool_name, input_json,
             output_json, started_at_ms, finished_at_ms, status)
         SELECT 'run', 'task ' || (i % 10), 1, i, 'read', '{\"path\":\"a\"}', '\"text\"', i, i + 5,
             'success' FROM n",
    )
    .unwrap();
    let started = Instant::now();
    assert_eq!(journal.tail(0, usize::MAX).unwrap().len(), 100_000);
    assert_eq!(journal.list_run("run", Order::Reverse, false).unwrap().calls.len(), 100_000);
    assert_eq!(journal.list_runs().unwrap()[0].calls, 100_000);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[test]
fn the_same_file_under_another_name_is_the_same_journal() {
    let place = Place::new();
    let journal = place.open();
    let link = place.base.path().join("link.db");
    std::os::unix::fs::symlink(place.file(), &link).unwrap();
    let lock = journal.lock_task(&task("t"), 1).unwrap();
    let other = open(&link).unwrap();
    assert_eq!(other.lock_task(&task("t"), 1).unwrap_err().kind(), "TaskLocked");
    drop(lock);
    drop(other.lock_task(&task("t"), 1).unwrap());
    let reader = Journal::open(
        &Location::File(link),
        Options { access: Access::ReadOnly, ..Options::default() },
    )
    .unwrap();
    journal.begin(effect(&task("t"), 1, 1)).unwrap();
    assert_eq!(reader.tail(0, 10).unwrap().len(), 1, "a reader sees what others write");
}

//! What a second attempt needs from the first.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod support;

use support::{Kind, Place, effect, ended, failure, reading, success, task};
use toolwright_journal::keys::{args_hash, call_idempotency_key};
use toolwright_journal::{Claim, Intent, Journal, Location, Options, Ordinals, Outcome, Status};

fn both(test: impl Fn(&Journal)) {
    test(&Journal::open(&Location::Memory, Options::default()).unwrap());
    test(&Place::new().open());
}

fn made(journal: &Journal, intent: Intent, outcome: Outcome) -> i64 {
    let call = journal.begin(intent).unwrap();
    journal.finish(call, ended(outcome)).unwrap();
    call.row
}

fn output(text: &str) -> Outcome {
    success(text).outcome
}

#[test]
fn a_retry_is_told_what_must_not_be_repeated() {
    both(|journal| {
        let t = task("t");
        made(journal, effect(&t, 1, 1), output("sent"));
        made(journal, effect(&t, 1, 2), failure("half").outcome);
        made(journal, effect(&t, 1, 3), Outcome::Unknown(None));
        made(journal, effect(&t, 1, 4), Outcome::Rejected(None));
        journal.begin(effect(&t, 1, 5)).unwrap();
        made(journal, Intent { idempotent: true, ..effect(&t, 1, 6) }, output("put"));
        journal.record(reading(&t, 1, 7), success("text")).unwrap();
        let unkeyed = Intent { accepts_idempotency_key: false, ..effect(&t, 2, 1) };
        made(journal, unkeyed, output("sent"));
        made(journal, effect(&task("another"), 1, 1), output("sent"));
        made(journal, effect(&t, 3, 1), output("this attempt"));

        let listed: Vec<_> = journal
            .prior_effects(&t, 3)
            .unwrap()
            .into_iter()
            .map(|prior| {
                assert_eq!(prior.side_effect, Some(true));
                (prior.attempt, prior.seq, prior.status)
            })
            .collect();
        let expected = [
            (1, 1, Status::Success),
            (1, 2, Status::Error),
            (1, 3, Status::Unknown),
            (1, 5, Status::Started),
            (2, 1, Status::Success),
        ];
        assert_eq!(listed, expected);
        assert!(journal.prior_effects(&t, 1).unwrap().is_empty());
    });
}

#[test]
fn keys_are_stable_over_attempts_and_distinct_within_one() {
    let journal = Journal::open(&Location::Memory, Options::default()).unwrap();
    let t = task("t");
    let hash = args_hash(r#"{"amount":5,"to":"a"}"#);
    let mut keys = Vec::new();
    for attempt in 1..=2 {
        let ordinals = Ordinals::new();
        for seq in 1..=2 {
            // The model need not write its arguments in the same order again.
            let again = args_hash(r#"{ "to": "a", "amount": 5.0 }"#);
            assert_eq!(again, hash);
            let ordinal = ordinals.take("pay", &again);
            keys.push(call_idempotency_key(&t, "pay", &again, ordinal));
            let intent = Intent {
                tool_name: "pay".to_owned(),
                args_hash: Some(again),
                ordinal: Some(ordinal),
                ..effect(&t, attempt, seq)
            };
            made(&journal, intent, output("paid"));
        }
    }
    assert_eq!(keys[..2], keys[2..], "the second attempt pays nothing twice");
    assert_ne!(keys[0], keys[1], "the first pays two times");
    assert!(keys[0].len() < 100 && keys[0].is_ascii());
}

#[test]
fn a_refused_call_leaves_its_number_to_the_next() {
    let journal = Journal::open(&Location::Memory, Options::default()).unwrap();
    let t = task("t");
    let call = |attempt, seq, ordinal| Intent {
        args_hash: Some("h".to_owned()),
        ordinal: Some(ordinal),
        ..effect(&t, attempt, seq)
    };
    made(&journal, call(1, 1, 1), Outcome::Rejected(None));
    made(&journal, call(1, 2, 1), output("done"));
    let recorded = journal.recorded(&t, "bash", "h", 1).unwrap().unwrap();
    assert_eq!(recorded.seq, 2);
}

#[test]
fn a_recorded_result_is_that_of_the_identical_call() {
    both(|journal| {
        let t = task("t");
        let call = |attempt, seq, hash: &str, ordinal| Intent {
            args_hash: Some(hash.to_owned()),
            ordinal: Some(ordinal),
            has_revert: true,
            ..effect(&t, attempt, seq)
        };
        made(journal, call(1, 1, "x", 1), output("one"));
        made(journal, call(1, 2, "x", 2), output("two"));
        made(journal, call(1, 3, "y", 1), failure("no").outcome);
        made(journal, call(2, 1, "x", 1), output("again"));
        made(journal, call(3, 1, "x", 1), failure("no").outcome);
        let recorded = |tool: &str, hash: &str, ordinal| {
            let recorded = journal.recorded(&t, tool, hash, ordinal).unwrap();
            recorded.map(|recorded| recorded.output_json.unwrap())
        };
        assert_eq!(recorded("bash", "x", 1).as_deref(), Some("\"again\""), "the latest success");
        assert_eq!(recorded("bash", "x", 2).as_deref(), Some("\"two\""));
        for (tool, hash, ordinal) in [("bash", "x", 3), ("bash", "y", 1), ("read", "x", 1)] {
            assert_eq!(recorded(tool, hash, ordinal), None);
        }
        let row = journal.find(&t, 1, 2).unwrap().unwrap().row;
        journal.claim_revert(row).unwrap();
        assert_eq!(recorded("bash", "x", 2), None, "what was undone did not happen");
    });
}

#[test]
fn rows_without_hashes_are_compared_by_their_arguments() {
    let place = Place::new();
    let journal = place.open();
    place
        .raw()
        .execute_batch(
            r#"INSERT INTO _smithers_tool_calls (run_id, node_id, attempt, seq, tool_name,
                   input_json, output_json, started_at_ms, status)
               VALUES ('run', 't', 1, 1, 'pay', '{"a":1,"b":2}', '1', 1, 'succeeded'),
                   ('run', 't', 1, 2, 'pay', '{"b":2,"a":1}', '2', 2, 'succeeded'),
                   ('run', 't', 1, 3, 'pay', NULL, '3', 3, 'succeeded')"#,
        )
        .unwrap();
    let hash = args_hash(r#"{"a":1,"b":2}"#);
    let recorded = |ordinal| {
        let recorded = journal.recorded(&task("t"), "pay", &hash, ordinal).unwrap();
        recorded.map(|recorded| recorded.output_json.unwrap())
    };
    assert_eq!(
        (recorded(1).as_deref(), recorded(2).as_deref(), recorded(3)),
        (Some("1"), Some("2"), None)
    );
}

#[test]
fn a_result_that_was_cut_is_not_whole() {
    let options = Options { output_limit: 100, ..Options::default() };
    let journal = Journal::open(&Location::Memory, options).unwrap();
    for (seq, length) in [(1, 98), (2, 99)] {
        let intent = Intent {
            args_hash: Some("h".to_owned()),
            ordinal: Some(seq),
            ..effect(&task("t"), 1, seq)
        };
        made(&journal, intent, output(&"x".repeat(length)));
    }
    let is_cut =
        |ordinal| journal.recorded(&task("t"), "bash", "h", ordinal).unwrap().unwrap().is_cut;
    assert_eq!((is_cut(1), is_cut(2)), (false, true));
}

fn undoable(attempt: i64, seq: i64) -> Intent {
    Intent { has_revert: true, ..effect(&task("t"), attempt, seq) }
}

#[test]
fn effects_are_undone_in_reverse_each_at_most_once() {
    both(|journal| {
        let one = made(journal, undoable(1, 1), output("one"));
        made(journal, effect(&task("t"), 1, 2), output("cannot be undone"));
        made(journal, undoable(1, 3), Outcome::Rejected(None));
        let running = journal.begin(undoable(1, 4)).unwrap();
        let two = made(journal, undoable(1, 5), Outcome::Unknown(None));
        for row in [two, one] {
            let Claim::Won(call) = journal.claim_revert(row).unwrap() else { panic!("free") };
            assert_eq!((call.row, call.revert_status.as_deref()), (row, Some("reverting")));
            let again = journal.claim_revert(row).unwrap();
            assert_eq!(again, Claim::Taken("reverting".to_owned()));
        }
        assert!(journal.finish_revert(two, Ok(())).unwrap());
        assert!(journal.finish_revert(one, Err(r#"{"message":"no"}"#)).unwrap());
        assert!(!journal.finish_revert(one, Ok(())).unwrap(), "it failed");
        let states: Vec<_> = journal
            .rows(&[one, two])
            .unwrap()
            .into_iter()
            .map(|call| {
                (
                    call.revert_status.unwrap(),
                    call.revert_error_json.is_some(),
                    call.reverted_at_ms.is_some(),
                )
            })
            .collect();
        assert_eq!(
            states,
            [("revert-failed".to_owned(), true, false), ("reverted".to_owned(), false, true)]
        );
        for row in [one, two] {
            assert!(matches!(journal.claim_revert(row).unwrap(), Claim::Taken(_)), "never again");
        }
        assert!(matches!(journal.claim_revert(running.row).unwrap(), Claim::Nothing(_)));
        assert_eq!(journal.claim_revert(999).unwrap_err().kind(), "Missing");
        // What was undone is no reason to warn, what could not be undone is.
        let warned: Vec<_> = journal
            .prior_effects(&task("t"), 2)
            .unwrap()
            .into_iter()
            .map(|prior| prior.seq)
            .collect();
        assert_eq!(warned, [1, 2, 4]);
    });
}

#[test]
fn of_many_who_claim_one_wins() {
    let place = Place::new();
    let row = made(&place.open(), undoable(1, 1), output("one"));
    let journals: Vec<_> = (0..4).map(|_| place.open()).collect();
    let won: usize = std::thread::scope(|scope| {
        let claims: Vec<_> = journals
            .iter()
            .map(|journal| {
                scope.spawn(move || {
                    usize::from(matches!(journal.claim_revert(row).unwrap(), Claim::Won(_)))
                })
            })
            .collect();
        claims.into_iter().map(|claim| claim.join().unwrap()).sum()
    });
    assert_eq!(won, 1);
}

#[test]
fn a_call_that_ends_after_it_was_undone_makes_that_stale() {
    let place = Place::new();
    let journal = place.open();
    let call = journal.begin(undoable(1, 1)).unwrap();
    journal.finish(call, ended(Outcome::Unknown(None))).unwrap();
    assert!(matches!(journal.claim_revert(call.row).unwrap(), Claim::Won(_)));
    journal.finish(call, success("late")).unwrap();
    assert!(!journal.finish_revert(call.row, Ok(())).unwrap());
    let now = journal.rows(&[call.row]).unwrap().remove(0);
    assert_eq!((now.status, now.revert_status.as_deref()), (Status::Success, Some("revert-stale")));
    assert_eq!(journal.prior_effects(&task("t"), 2).unwrap().len(), 1);
}

#[test]
fn undoing_that_was_interrupted_has_failed() {
    let place = Place::new();
    let row = made(&place.open(), undoable(1, 1), output("one"));
    let journal = place.open();
    assert!(matches!(journal.claim_revert(row).unwrap(), Claim::Won(_)));
    journal.close().unwrap();
    let later = place.open();
    assert_eq!(later.recover(r#"{"code":"PROCESS_DIED"}"#).unwrap().reverts, [row]);
    let call = later.rows(&[row]).unwrap().remove(0);
    assert_eq!(
        (call.status, call.revert_status.as_deref()),
        (Status::Success, Some("revert-failed"))
    );
    assert!(call.revert_error_json.unwrap().contains("PROCESS_DIED"));
    assert!(matches!(later.claim_revert(row).unwrap(), Claim::Taken(_)));
}

#[test]
fn a_task_runs_one_attempt_at_a_time() {
    both(|journal| {
        let lock = journal.lock_task(&task("t"), 1).unwrap();
        let error = journal.lock_task(&task("t"), 2).unwrap_err();
        assert_eq!(error.kind(), "TaskLocked");
        assert!(error.to_string().contains("`t` of run `run`"), "{error}");
        drop(journal.lock_task(&task("u"), 1).unwrap());
        drop(lock);
        drop(journal.lock_task(&task("t"), 2).unwrap());
    });
}

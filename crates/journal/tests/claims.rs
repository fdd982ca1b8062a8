//! Calls that are claimed by an id from outside.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod support;

use support::{Place, effect, task};
use toolwright_journal::{
    CallClaim, CallRef, ClaimHow, Finish, Intent, Journal, JournalError, Outcome, Status,
};

const DIED: &str = r#"{"code":"PROCESS_DIED"}"#;

fn claim(journal: &Journal, id: &str, repeat: bool) -> Result<CallClaim, JournalError> {
    claim_of(journal, effect(&task("node"), 1, 0), id, repeat)
}

fn claim_of(
    journal: &Journal,
    intent: Intent,
    id: &str,
    repeat: bool,
) -> Result<CallClaim, JournalError> {
    journal.claim_call(intent, ClaimHow { call_id: id, repeat, error_json: DIED })
}

fn won(claim: CallClaim) -> CallRef {
    match claim {
        CallClaim::Claimed(call) => call,
        other => panic!("not claimed: {other:?}"),
    }
}

fn end(journal: &Journal, call: CallRef, outcome: Outcome) -> Result<(), JournalError> {
    journal.finish(
        call,
        Finish { outcome, finished_at_ms: 9_000, whole: false, seen: None, key_read: false },
    )
}

#[test]
fn one_of_many_threads_gets_each_call() {
    let place = Place::new();
    let journals = [place.open(), place.open()];
    let ids: Vec<String> = (0..16).map(|number| format!("call-{number}")).collect();
    let won: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|number| {
                let (journal, ids) = (&journals[number % 2], &ids);
                scope.spawn(move || {
                    let claims = ids.iter().map(|id| claim(journal, id, false).unwrap());
                    claims.filter(|claim| matches!(claim, CallClaim::Claimed(_))).count()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(won, ids.len());
    let mut numbers: Vec<i64> =
        journals[0].tail(0, 100).unwrap().iter().map(|call| call.seq).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=16).collect::<Vec<i64>>());
}

#[test]
fn what_became_of_a_call_decides() {
    let place = Place::new();
    let journal = place.open();
    let call = won(claim(&journal, "one", false).unwrap());
    assert!(matches!(claim(&journal, "one", true).unwrap(), CallClaim::Running(_)));
    end(&journal, call, Outcome::Rejected(None)).unwrap();
    // It was refused before it did anything, so it is made now.
    let again = won(claim(&journal, "one", false).unwrap());
    assert_eq!((again.row, again.seq), (call.row, call.seq));
    assert!(again.started_at_ms > call.started_at_ms);
    // The first start has no say any more.
    assert!(end(&journal, call, Outcome::Success(None)).is_err());
    end(&journal, again, Outcome::Unknown(None)).unwrap();
    assert!(matches!(claim(&journal, "one", false).unwrap(), CallClaim::Unknown(_)));
    let third = won(claim(&journal, "one", true).unwrap());
    end(&journal, third, Outcome::Success(Some("1".to_owned()))).unwrap();
    match claim(&journal, "one", true).unwrap() {
        CallClaim::Recorded(row) => assert_eq!(row.output_json.as_deref(), Some("1")),
        other => panic!("{other:?}"),
    }
    let failed = won(claim(&journal, "two", false).unwrap());
    end(&journal, failed, Outcome::Error(Some("{}".to_owned()))).unwrap();
    assert!(matches!(claim(&journal, "two", true).unwrap(), CallClaim::Recorded(_)));
}

#[test]
fn a_journal_that_is_gone_leaves_the_call_unknown() {
    let place = Place::new();
    let (gone, journal) = (place.open(), place.open());
    won(claim(&gone, "one", false).unwrap());
    assert!(matches!(claim(&journal, "one", true).unwrap(), CallClaim::Running(_)));
    gone.close().unwrap();
    match claim(&journal, "one", false).unwrap() {
        CallClaim::Unknown(row) => {
            assert_eq!((row.status, row.error_json.as_deref()), (Status::Unknown, Some(DIED)));
        }
        other => panic!("{other:?}"),
    }
    won(claim(&journal, "one", true).unwrap());
    // A row that was claimed again is recovered like any other.
    journal.close().unwrap();
    assert_eq!(place.open().recover(DIED).unwrap().calls.len(), 1);
}

#[test]
fn an_id_belongs_to_one_call() {
    let place = Place::new();
    let journal = place.open();
    won(claim(&journal, "one", false).unwrap());
    let other_tool = Intent { tool_name: "other".to_owned(), ..effect(&task("node"), 1, 0) };
    let error = claim_of(&journal, other_tool, "one", false).unwrap_err();
    assert!(matches!(error, JournalError::Differs { .. }), "{error}");
    let hashed =
        |hash: &str| Intent { args_hash: Some(hash.to_owned()), ..effect(&task("node"), 1, 0) };
    won(claim_of(&journal, hashed("a"), "two", false).unwrap());
    assert!(matches!(claim_of(&journal, hashed("a"), "two", false), Ok(CallClaim::Running(_))));
    assert!(claim_of(&journal, hashed("b"), "two", false).is_err());
    // In another task it is another call.
    won(claim_of(&journal, effect(&task("elsewhere"), 1, 0), "one", false).unwrap());
}

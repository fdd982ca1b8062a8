//! One journal, many threads: what is written together is judged each by itself.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod support;

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use support::{Kind, Place, effect, reading, success, task};
use toolwright_journal::{
    Journal, Location, NamedLock, Options, Order, Ordinals, Status, Synchronous,
};

#[test]
fn a_journal_is_shared_by_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Journal>();
    shared::<NamedLock>();
    shared::<Ordinals>();
}

#[test]
fn many_threads_write_and_read_at_once() {
    let place = Place::new();
    let journal = place.open();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let journal = &journal;
            scope.spawn(move || {
                let task = task(&format!("node {thread}"));
                for seq in 1..=50 {
                    let call = journal.begin(effect(&task, 1, seq)).unwrap();
                    assert_eq!(
                        journal.list(&task, false).unwrap().calls.len(),
                        usize::try_from(seq).unwrap()
                    );
                    journal.finish(call, success("done")).unwrap();
                }
            });
        }
    });
    let calls = journal.list_run("run", Order::Forward, false).unwrap().calls;
    assert_eq!(calls.len(), 400);
    assert!(calls.iter().all(|call| call.status == Status::Success));
}

/// Slow commits, so that calls are written together.
fn slow(place: &Place) -> Journal {
    let options = Options { synchronous: Synchronous::Full, ..Options::default() };
    Journal::open(&Location::File(place.file()), options).unwrap()
}

#[test]
fn a_row_that_fails_takes_no_other_with_it() {
    let place = Place::new();
    let journal = slow(&place);
    let (threads, calls) = (8, 20);
    let barrier = Barrier::new(threads);
    let refused = AtomicUsize::new(0);
    thread::scope(|scope| {
        for number in 0..threads {
            let (journal, barrier, refused) = (&journal, &barrier, &refused);
            scope.spawn(move || {
                barrier.wait();
                let own = task(&format!("node {number}"));
                for seq in 1..=calls {
                    // Every thread begins the same call, and one of its own.
                    if let Err(error) = journal.begin(effect(&task("common"), 1, seq)) {
                        assert_eq!(error.kind(), "Duplicate");
                        refused.fetch_add(1, Ordering::Relaxed);
                    }
                    let call = journal.begin(effect(&own, 1, seq)).unwrap();
                    assert_eq!(journal.rows(&[call.row]).unwrap()[0].task, own, "its own row");
                    journal.finish(call, success("done")).unwrap();
                }
            });
        }
    });
    let calls = usize::try_from(calls).unwrap();
    assert_eq!(refused.into_inner(), (threads - 1) * calls);
    let all = journal.list_run("run", Order::Forward, false).unwrap().calls;
    assert_eq!(all.len(), (threads + 1) * calls);
    let finished = all.iter().filter(|call| call.status == Status::Success).count();
    assert_eq!(finished, threads * calls);
}

#[test]
fn closing_among_calls_leaves_none_waiting_and_none_unsaid() {
    for round in 0..10 {
        let place = Place::new();
        let journal = if round % 2 == 0 { place.open() } else { slow(&place) };
        let written: BTreeSet<(i64, i64)> = thread::scope(|scope| {
            let workers: Vec<_> = (0..6_i64)
                .map(|number| {
                    let journal = &journal;
                    scope.spawn(move || {
                        let mut written = Vec::new();
                        for seq in 1.. {
                            let intent = if number < 4 {
                                effect(&task("t"), number, seq)
                            } else {
                                reading(&task("t"), number, seq)
                            };
                            match journal.record(intent, success("done")) {
                                Ok(()) => written.push((number, seq)),
                                Err(error) => {
                                    assert_eq!(error.kind(), "Closed");
                                    break;
                                }
                            }
                        }
                        written
                    })
                })
                .collect();
            thread::sleep(Duration::from_millis(3 + round));
            // Two at once: the second waits for the first.
            let other = scope.spawn(|| journal.close());
            journal.close().unwrap();
            other.join().unwrap().unwrap();
            workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
        });
        let calls = place.open().list(&task("t"), false).unwrap().calls;
        let actual: BTreeSet<_> = calls.iter().map(|call| (call.attempt, call.seq)).collect();
        assert_eq!(actual, written);
    }
}

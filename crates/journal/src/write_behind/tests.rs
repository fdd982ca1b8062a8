//! The queue under every order of steps that a random scheduler finds. Time stands still: a wait ends by
//! a notification alone, so a lost one shows as a deadlock.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use shuttle::thread;
use toolwright_sqlite::SqliteError;

use super::*;
use crate::statements::End;
use crate::{CallRef, Finish, Outcome};

/// Far in the future.
const NEVER: Duration = Duration::from_secs(3600);
const SCHEDULES: usize = 1000;

fn row(number: i64) -> Work {
    let outcome = Outcome::Success(None);
    let end = End::new(
        Finish { outcome, finished_at_ms: 0, whole: false, seen: None, key_read: false },
        100,
    );
    Work::Finish { call: CallRef { row: number, attempt: 1, seq: 1, started_at_ms: 0 }, end }
}

/// Remembers the rows it was given, after a number of failures.
#[derive(Default)]
struct Recorder {
    written: Mutex<Vec<i64>>,
    failures: AtomicUsize,
}

impl Recorder {
    fn failing(times: usize) -> Arc<Self> {
        Arc::new(Self { failures: AtomicUsize::new(times), ..Self::default() })
    }

    fn written(&self) -> Vec<i64> {
        self.written.lock().expect("whole").clone()
    }
}

impl Sink for Recorder {
    fn write_batch(&self, works: &[Work]) -> Vec<Result<i64, JournalError>> {
        let left = self.failures.load(Ordering::SeqCst);
        if left > 0 {
            self.failures.store(left - 1, Ordering::SeqCst);
            let error = SqliteErrorKind::Full.at(Path::new("a.db"));
            return works.iter().map(|_| Err(error.clone().into())).collect();
        }
        let numbers = works.iter().map(|work| match work {
            Work::Finish { call, .. } | Work::KeyRead(call) => call.row,
            Work::Insert { .. } => 0,
        });
        let numbers: Vec<i64> = numbers.collect();
        self.written.lock().expect("whole").extend(&numbers);
        numbers.into_iter().map(Ok).collect()
    }
}

fn queue(capacity: usize, sink: &Arc<Recorder>) -> Arc<WriteBehindQueue> {
    let queue = Arc::new(WriteBehindQueue::new(PathBuf::from("a.db"), NEVER, capacity));
    assert!(queue.start(sink));
    queue
}

#[test]
fn a_flush_returns_when_every_earlier_row_is_written_once_and_in_order() {
    for capacity in [1, 2, 10] {
        shuttle::check_random(
            move || {
                let sink = Recorder::failing(0);
                let queue = queue(capacity, &sink);
                let pushers: Vec<_> = [10, 20]
                    .into_iter()
                    .map(|first| {
                        let (queue, sink) = (Arc::clone(&queue), Arc::clone(&sink));
                        thread::spawn(move || {
                            for number in first..first + 3 {
                                queue.push(row(number), 1).expect("room");
                            }
                            queue.flush().expect("written");
                            let own = |number: &i64| (first..first + 3).contains(number);
                            let written: Vec<_> = sink.written().into_iter().filter(own).collect();
                            assert_eq!(written, [first, first + 1, first + 2]);
                        })
                    })
                    .collect();
                for pusher in pushers {
                    pusher.join().expect("no panic");
                }
                queue.stop().expect("nothing is lost");
                assert_eq!(sink.written().len(), 6);
            },
            SCHEDULES,
        );
    }
}

#[test]
fn what_is_accepted_before_the_end_is_written_and_the_rest_is_refused() {
    shuttle::check_random(
        || {
            let sink = Recorder::failing(0);
            let queue = queue(2, &sink);
            let pusher = thread::spawn({
                let queue = Arc::clone(&queue);
                move || (1..=4).filter(|number| queue.push(row(*number), 1).is_ok()).count()
            });
            let second = thread::spawn({
                let queue = Arc::clone(&queue);
                move || queue.stop()
            });
            queue.stop().expect("nothing is lost");
            second.join().expect("no panic").expect("nothing is lost");
            let accepted = pusher.join().expect("no panic");
            let expected: Vec<i64> = (1..=4).take(accepted).collect();
            assert_eq!(sink.written(), expected);
            assert!(matches!(
                queue.push(row(5), 1),
                Err(JournalError::Sqlite(SqliteError { kind: SqliteErrorKind::Closed, .. }))
            ));
        },
        SCHEDULES,
    );
}

#[test]
fn rows_outlive_a_failure_and_keep_their_order() {
    shuttle::check_random(
        || {
            let sink = Recorder::failing(1);
            let queue = queue(10, &sink);
            for number in 1..=2 {
                queue.push(row(number), 1).expect("room");
            }
            let reader = thread::spawn({
                let queue = Arc::clone(&queue);
                // A reader does not wait for another try.
                move || queue.settle()
            });
            let first = queue.flush();
            reader.join().expect("no panic");
            if first.is_err() {
                queue.flush().expect("the second try writes them");
            }
            assert_eq!(sink.written(), [1, 2]);
            queue.stop().expect("nothing is lost");
        },
        SCHEDULES,
    );
}

#[test]
fn a_full_queue_fails_after_a_failed_try_and_the_end_counts_what_is_lost() {
    shuttle::check_random(
        || {
            let sink = Recorder::failing(usize::MAX);
            let queue = queue(1, &sink);
            queue.push(row(1), 1).expect("room");
            assert!(queue.push(row(2), 1).is_err(), "there is no room, and no hope of any");
            let returned = queue.try_push_nowait(1, || row(3));
            assert!(matches!(returned, Ok(None)), "it would have to wait");
            match queue.stop() {
                Err(JournalError::Unwritten { rows, .. }) => assert_eq!(rows, 1),
                other => panic!("{other:?}"),
            }
        },
        SCHEDULES,
    );
}

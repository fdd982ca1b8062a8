//! Processes that are killed at any moment: every effect on disk has its row, and no row claims what
//! is not there.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a failed unwrap is a failed test")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use support::{Place, Random, effect, integrity, open, reading, success, task, tenth_of};
use toolwright_journal::{CallClaim, ClaimHow, Journal, Order, Status};

const ROUNDS: &str = "effects";

/// A call with its effect: a file.
fn call(journal: &Journal, base: &Path, attempt: i64, seq: i64, step: &mut dyn FnMut(&str)) {
    step("before the intent");
    let begun = journal.begin(effect(&task("t"), attempt, seq)).unwrap();
    step("after the intent");
    std::fs::write(base.join(ROUNDS).join(format!("{attempt}-{seq}")), "").unwrap();
    step("after the effect");
    journal.finish(begun, success("touched")).unwrap();
    step("after the outcome");
}

/// The same of a call that is claimed by its id. The claim gives it its number.
fn claimed_call(journal: &Journal, base: &Path, call_id: &str) {
    let how = ClaimHow { call_id, repeat: false, error_json: "{}" };
    let claim = journal.claim_call(effect(&task("t"), 1, 0), how).unwrap();
    let CallClaim::Claimed(begun) = claim else { panic!("{call_id} is not new: {claim:?}") };
    let place = format!("{}-{}", begun.attempt, begun.seq);
    std::fs::write(base.join(ROUNDS).join(place), "").unwrap();
    journal.finish(begun, success("touched")).unwrap();
}

fn effects(base: &Path) -> BTreeSet<(i64, i64)> {
    let entries = std::fs::read_dir(base.join(ROUNDS)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .map(|name| {
            let (attempt, seq) = name.split_once('-').unwrap();
            (attempt.parse().unwrap(), seq.parse().unwrap())
        })
        .collect()
}

/// Everything that must hold after a crash, and after recovering from it. Gives the number of calls
/// that were recovered.
fn check(
    place: &Place,
    announced: &BTreeSet<(i64, i64)>,
    finished: &BTreeSet<(i64, i64)>,
) -> usize {
    let base = place.base.path();
    integrity(&place.file());
    let journal = place.open();
    let mut open_before: Vec<i64> = journal
        .list_run("run", Order::Forward, false)
        .unwrap()
        .calls
        .into_iter()
        .filter(|call| call.status == Status::Started)
        .map(|call| call.row)
        .collect();
    open_before.sort_unstable();
    let recovered = journal.recover(r#"{"code":"PROCESS_DIED"}"#).unwrap();
    assert_eq!(recovered.calls, open_before, "nobody lives who could finish them");
    assert_eq!(journal.recover(r#"{"code":"PROCESS_DIED"}"#).unwrap().calls, [0_i64; 0], "once");
    let rows: BTreeMap<_, _> = journal
        .list_run("run", Order::Forward, false)
        .unwrap()
        .calls
        .into_iter()
        .map(|call| ((call.attempt, call.seq), call))
        .collect();
    let effects = effects(base);
    for place in announced {
        assert!(rows.contains_key(place), "an intent that was returned is lost: {place:?}");
    }
    for place in finished {
        assert_eq!(rows[place].status, Status::Success, "an outcome that was returned is lost");
    }
    for place in &effects {
        assert!(rows.contains_key(place), "an effect without a row: {place:?}");
    }
    let attempt = rows.keys().map(|place| place.0).max().unwrap_or(0);
    let warned: BTreeMap<_, _> = journal
        .prior_effects(&task("t"), attempt + 1)
        .unwrap()
        .into_iter()
        .map(|prior| ((prior.attempt, prior.seq), prior.status))
        .collect();
    for (place, call) in &rows {
        match call.status {
            Status::Success => {
                assert!(effects.contains(place), "a success that was not: {place:?}");
                assert_eq!(call.output_json.as_deref(), Some("\"touched\""));
                assert_eq!(warned[place], Status::Success);
            }
            Status::Unknown => {
                assert!(call.error_json.as_ref().unwrap().contains("PROCESS_DIED"));
                assert_eq!(call.finished_at_ms, None);
                assert_eq!(warned[place], Status::Unknown);
            }
            other => panic!("{place:?} is {other:?}"),
        }
    }
    assert!(journal.lock_task(&task("t"), attempt + 1).is_ok(), "a lock died with its holder");
    journal.close().unwrap();
    recovered.calls.len()
}

fn place() -> Place {
    let place = Place::new();
    std::fs::create_dir(place.base.path().join(ROUNDS)).unwrap();
    place
}

#[test]
fn a_kill_at_each_step_is_told_by_the_row() {
    const TEST: &str = "a_kill_at_each_step_is_told_by_the_row";
    const STEPS: [&str; 4] =
        ["before the intent", "after the intent", "after the effect", "after the outcome"];
    if let Some(argument) = support::child_argument() {
        let (base, last) = argument.split_once('|').unwrap();
        let journal = open(&Path::new(base).join("runs.db")).unwrap();
        let _lock = journal.lock_task(&task("t"), 1).unwrap();
        call(&journal, Path::new(base), 1, 1, &mut |step| {
            if step == last {
                let this = rustix::process::getpid();
                rustix::process::kill_process(this, rustix::process::Signal::KILL).unwrap();
            }
        });
        unreachable!("killed before");
    }
    for (number, step) in STEPS.iter().enumerate() {
        let place = place();
        let argument = format!("{}|{step}", place.base.path().display());
        let status = support::child(TEST, &argument).stdout(Stdio::null()).status().unwrap();
        assert!(!status.success());
        let all = BTreeSet::from([(1, 1)]);
        let none = BTreeSet::new();
        let recovered = check(
            &place,
            if number >= 1 { &all } else { &none },
            if number == 3 { &all } else { &none },
        );
        assert_eq!(recovered, usize::from(number == 1 || number == 2), "{step}");
        assert_eq!(effects(place.base.path()).len(), usize::from(number >= 2), "{step}");
    }
}

/// Makes calls on two threads until it is killed, and says what was returned.
fn work_until_killed(base: &Path, attempt: i64) -> ! {
    let journal = open(&base.join("runs.db")).unwrap();
    let _lock = journal.lock_task(&task("t"), attempt).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let journal = &journal;
            scope.spawn(move || {
                for seq in 0.. {
                    let seq = seq * 2 + thread;
                    call(journal, base, attempt, seq, &mut |step| {
                        if step.starts_with("after the") {
                            let line = format!("{step} {attempt} {seq}\n");
                            std::io::stdout().write_all(line.as_bytes()).unwrap();
                        }
                    });
                    let read = reading(&task("reads"), attempt, seq);
                    journal.record(read, success("text")).unwrap();
                }
            });
        }
    });
    unreachable!("killed before")
}

#[test]
fn a_kill_at_any_time_loses_nothing_that_was_returned() {
    const TEST: &str = "a_kill_at_any_time_loses_nothing_that_was_returned";
    if let Some(argument) = support::child_argument() {
        let (base, attempt) = argument.split_once('|').unwrap();
        work_until_killed(Path::new(base), attempt.parse().unwrap());
    }
    let mut random = Random::new();
    let (mut recovered, mut calls, kills) = (0, 0, tenth_of(200));
    let mut shared = place();
    for round in 0..kills {
        // Most often one process after the other, as retries are, on a growing file; sometimes the
        // file is new.
        let attempt = i64::try_from(round % 20).unwrap() + 1;
        if attempt == 1 {
            shared = place();
        }
        let argument = format!("{}|{attempt}", shared.base.path().display());
        let mut child = support::child(TEST, &argument).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut output_text = String::new();
        if random.below(4) > 0 {
            while !output_text.contains("after the intent") {
                assert!(output.read_line(&mut output_text).unwrap() > 0, "{output_text}");
            }
        }
        std::thread::sleep(Duration::from_micros(random.below(20_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        output.read_to_string(&mut output_text).unwrap();
        let announced = |step: &str| -> BTreeSet<(i64, i64)> {
            // The last line may have been cut by the kill.
            let whole = output_text.rsplit_once('\n').map_or("", |(lines, _)| lines);
            whole
                .lines()
                .filter_map(|line| line.strip_prefix(step)?.trim().split_once(' '))
                .filter_map(|(attempt, seq)| Some((attempt.parse().ok()?, seq.parse().ok()?)))
                .collect()
        };
        let finished = announced("after the outcome");
        calls += finished.len();
        check_reads(&shared);
        recovered += check(&shared, &announced("after the intent"), &finished);
    }
    println!("{kills} kills, {calls} calls finished, {recovered} recovered");
    assert!(recovered * 4 >= kills, "{recovered} of {kills} kills in a call is no fair share");
}

/// Of reads the last ones may be missing, and nothing else: their order is kept, without a hole.
fn check_reads(place: &Place) {
    let journal = place.open();
    let calls = journal.list(&task("reads"), false).unwrap().calls;
    for parity in 0..2 {
        let mut seen: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for call in calls.iter().filter(|call| call.seq % 2 == parity) {
            assert_eq!(call.status, Status::Success);
            seen.entry(call.attempt).or_default().push(call.seq);
        }
        for (attempt, seqs) in seen {
            let expected: Vec<_> = (0..).map(|n| n * 2 + parity).take(seqs.len()).collect();
            assert_eq!(seqs, expected, "attempt {attempt}");
        }
    }
}

/// The system calls by which a journal changes something.
const BOUNDARIES: [&str; 8] =
    ["pwrite64", "fdatasync", "fsync", "ftruncate", "unlink", "flock", "mkdir", "openat"];

#[test]
fn a_kill_before_any_system_call_leaves_a_whole_journal() {
    const TEST: &str = "a_kill_before_any_system_call_leaves_a_whole_journal";
    if let Some(base) = support::child_argument() {
        let journal = open(&Path::new(&base).join("runs.db")).unwrap();
        let _lock = journal.lock_task(&task("t"), 1).unwrap();
        for seq in 1..=4 {
            call(&journal, Path::new(&base), 1, seq, &mut |_| {});
        }
        for call_id in ["one", "two"] {
            claimed_call(&journal, Path::new(&base), call_id);
        }
        journal.record(reading(&task("reads"), 1, 1), success("text")).unwrap();
        journal.close().unwrap();
        return;
    }
    if Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_err() {
        println!("skipped: strace, which places the kills, is not installed");
        return;
    }
    let step = if tenth_of(10) == 1 { 2 } else { 1 };
    let mut outcomes = BTreeMap::<usize, usize>::new();
    for boundary in BOUNDARIES {
        for number in (1..).step_by(step) {
            let place = place();
            let base = place.base.path().to_str().unwrap();
            let program = support::child(TEST, base);
            let ended = Command::new("strace")
                .args(["-f", "-qq", "-o", "/dev/null", "-e"])
                .arg(format!("trace={boundary}"))
                .arg("-e")
                .arg(format!("inject={boundary}:signal=KILL:when={number}"))
                .arg(program.get_program())
                .args(program.get_args())
                .env("TOOLWRIGHT_CHILD", base)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .unwrap();
            let recovered = check(&place, &BTreeSet::new(), &BTreeSet::new());
            *outcomes.entry(recovered).or_default() += 1;
            if ended.success() {
                break; // there is no such call any more
            }
            assert!(number < 500, "{boundary}: the children fail for another reason, {ended}");
        }
    }
    println!("calls recovered: times {outcomes:?}");
    assert!(outcomes.contains_key(&0) && outcomes.contains_key(&1), "{outcomes:?}");
}

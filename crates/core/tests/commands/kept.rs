//! Commands that are kept, or that may go on: on Linux alone.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::json;
use toolwright_core::command::kept::{KeptProcess, Wait};
use toolwright_core::command::process::{self, BackgroundOptions, CommandOutcome};
use toolwright_core::command::program::{self, Program, ProgramSettings, Succeeded};
use toolwright_core::command::running::{Place, Running};
use toolwright_core::failure::Unfinished;
use toolwright_exec::process::{InputState, Stdio};
use toolwright_exec::{Cancel, Exit, Stream};

use super::{LONG, Session, directory, host, settings, sh};

fn options() -> BackgroundOptions {
    BackgroundOptions {
        place: Place::default(),
        stdio: Stdio::Pipes { has_input: true },
        is_stderr_apart: true,
        head_bytes: 10,
        tail_bytes: 10,
        holds: false,
        file_bytes: 1_000,
        file_directory: None,
    }
}

/// Closes its input, and waits for its end.
fn output_of(kept: &KeptProcess) -> (String, Option<Exit>) {
    let process = &kept.process;
    process.close_input();
    let deadline = std::time::Instant::now() + LONG;
    let end = loop {
        match process.end() {
            Some(end) => break end,
            None => assert!(std::time::Instant::now() < deadline, "it does not end"),
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    // From memory and from the file, piece by piece.
    let (mut output, mut next) = (String::new(), 0);
    loop {
        let piece = process.read(Stream::Stdout, next, 1_000);
        assert_eq!(piece.at, next, "nothing is missing");
        output.push_str(&String::from_utf8_lossy(&piece.bytes));
        next = piece.next();
        if piece.is_ended {
            return (output, end.exit);
        }
    }
}

#[test]
fn both_doors_keep_what_they_run_where_and_as_they_would_run_it() {
    let (_made, root) = directory();
    let (settings, cancel) = (settings(&root, Duration::ZERO), Cancel::new());
    let script = "read a; pwd; echo \"$a\"; exit 4";
    let start = |program: &Program| {
        process::start_program(&settings, program, &options(), &host(), &cancel)
    };
    let kept = start(&sh(script, "sub")).expect("started");
    kept.process.write(b"given\n").expect("taken");
    let expected = format!("{}\ngiven\n", root.join("sub").display());
    assert_eq!(output_of(&kept), (expected, Some(Exit::Code(4))));
    let missing = Program {
        cmd: "no-such-program".to_owned(),
        args: vec![],
        cwd: ".".to_owned(),
        patches: None,
    };
    let Err(Unfinished::Failed(failure)) = start(&missing) else { panic!("it was started") };
    assert_eq!(
        (failure.code.as_str(), &failure.details["started"]),
        ("PROCESS_FAILED", &json!(false))
    );

    let session = Session::new();
    let line = session.line(script);
    let kept = process::start_line(&session.workdir(), &line, &options(), &host(), &cancel);
    let kept = kept.expect("started");
    kept.process.write(b"given\n").expect("taken");
    let expected = format!("{}\ngiven\n", session.root.join("sub").display());
    assert_eq!(output_of(&kept), (expected, Some(Exit::Code(4))));
}

/// A command that may go on, with room for `limit` bytes.
fn may_go_on(
    script: &str,
    limit: usize,
    timeout: Duration,
    cancel: &Cancel,
) -> Result<CommandOutcome<Succeeded>, Unfinished> {
    let (_made, root) = directory();
    let settings = ProgramSettings { max_output_bytes: limit, ..settings(&root, timeout) };
    let stdio = Stdio::Pipes { has_input: false };
    let options = BackgroundOptions { stdio, is_stderr_apart: false, ..options() };
    process::run_program(&settings, &sh(script, "."), Some(&options), &host(), cancel)
}

#[test]
fn a_command_that_may_go_on_ends_as_any_other() {
    let scripts = [
        "echo out; echo err >&2",
        "echo failed; exit 7",
        "seq 1 3000",
        "for i in 1 2 3 4 5 6 7 8 9; do printf 'é😀%.0s' $(seq 1 99); done; exit 1",
        "printf 'a\\377\\342\\202'",
        "cat",
    ];
    for (script, limit) in
        scripts.iter().flat_map(|script| [7, 1_023, 1_024, 1_500].map(|limit| (script, limit)))
    {
        let (_made, root) = directory();
        let settings = ProgramSettings { max_output_bytes: limit, ..settings(&root, LONG) };
        let one = program::run(&settings, &sh(script, "."), &host(), &Cancel::new(), None);
        let other = may_go_on(script, limit, LONG, &Cancel::new()).map(|ran| {
            assert!(ran.process.is_none(), "{script} goes on");
            ran.output
        });
        match (one, other) {
            (Ok(one), Ok(other)) => assert_eq!(one, other, "{script}, {limit}"),
            (Err(Unfinished::Failed(one)), Err(Unfinished::Failed(other))) => {
                assert_eq!(one.message(), other.message(), "{script}, {limit}");
            }
            ends => panic!("{script}, {limit}: {ends:?}"),
        }
    }
}

#[test]
fn at_its_timeout_it_goes_on_and_a_cancellation_ends_it() {
    let ran = may_go_on("echo begun; sleep 60", 100, Duration::from_millis(200), &Cancel::new());
    let Ok(CommandOutcome { output, process: Some(kept) }) = ran else {
        panic!("it does not go on: {ran:?}")
    };
    assert_eq!((output.output.as_str(), kept.process.end()), ("begun\n", None));
    let cancel = Arc::new(Cancel::new());
    let stop = Arc::clone(&cancel);
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(1500));
        stop.cancel();
    });
    let ran = may_go_on("echo begun; sleep 60", 100, LONG, &cancel);
    stopper.join().expect("joined");
    assert_eq!(ran.map(drop), Err(Unfinished::Stopped { output: "begun\n".to_owned() }));
}

/// No longer than this, or until `cancelled`.
fn wait(limit: Option<Duration>, cancelled: &Arc<AtomicBool>) -> Wait {
    Wait { limit, cancelled: Arc::clone(cancelled) }
}

#[test]
fn a_wait_ends_with_what_it_waits_for_with_its_limit_or_with_a_cancellation() {
    let (_made, root) = directory();
    let (settings, cancel) = (settings(&root, Duration::ZERO), Cancel::new());
    let program = sh("read a; echo \"$a\"; exit 4", ".");
    let kept = process::start_program(&settings, &program, &options(), &host(), &cancel);
    let kept = kept.expect("started");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.expect("made");
    let never = Arc::new(AtomicBool::new(false));
    runtime.block_on(async {
        let short = || wait(Some(Duration::from_millis(20)), &never);
        assert_eq!(kept.ended(short()).await, None);
        assert_eq!(kept.listening(Some(1), short()).await, None);
        let piece = kept.read(Stream::Stdout, 0, 10, short()).await.expect("what there is");
        assert!(piece.bytes.is_empty() && !piece.is_ended);
        let state = kept.input_state(wait(Some(LONG), &never)).await;
        assert!(matches!(state, Some(InputState::Waiting | InputState::Unknown)), "{state:?}");

        let cancelled = Arc::new(AtomicBool::new(false));
        let stopper = {
            let (kept, cancelled) = (Arc::clone(&kept), Arc::clone(&cancelled));
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(50));
                cancelled.store(true, std::sync::atomic::Ordering::Relaxed);
                kept.recheck();
            })
        };
        assert_eq!(kept.ended(wait(None, &cancelled)).await, None);
        stopper.join().expect("joined");

        let end = kept.process.write(b"given\n").expect("taken");
        let endless = || wait(None, &never);
        assert_eq!(kept.written(end, endless()).await, Some(true));
        let piece = kept.read(Stream::Stdout, 0, 10, endless()).await.expect("output");
        assert_eq!(piece.bytes, b"given\n");
        let ended = kept.end_of().await.expect("the end");
        assert_eq!(ended.exit, Some(Exit::Code(4)));
        assert_eq!(kept.ended(endless()).await, Some(ended));
        assert_eq!(kept.listening(None, endless()).await, None);
        assert_eq!(kept.input_state(endless()).await, None);
        assert_eq!(kept.written(end + 1, endless()).await, Some(false));
    });
    assert!(!kept.signal("SIGNO") && kept.signal("SIGINT"));
}

#[test]
fn the_end_of_an_environment_ends_its_processes_also_one_that_starts_then() {
    let (_made, root) = directory();
    let (settings, cancel) = (settings(&root, Duration::ZERO), Cancel::new());
    let start = |place: Place| {
        let options = BackgroundOptions { place, ..options() };
        process::start_program(&settings, &sh("sleep 60", "."), &options, &host(), &cancel)
            .expect("started")
    };
    let mut running = Running::default();
    let (kept, late) = (start(running.place()), running.place());
    running.stop();
    assert!(kept.process.end().is_some(), "it has ended by now");
    assert_eq!(output_of(&start(late)).1, Some(Exit::Signal { number: 9, name: "SIGKILL".into() }));
}

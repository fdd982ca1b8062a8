//! Processes that run beyond the call that started them.

#![cfg(target_os = "linux")]

mod support;

use std::time::{Duration, Instant};

use support::background::{ProcessOptions, TestProcess};
use support::place::{Place, has_namespaces};
use support::{LONG, all_as_another_user, soon};
use toolwright_exec::process::{InputError, Stdio, TerminalSize};
use toolwright_exec::{ExecError, Exit, SpawnReason, Stream, Streams, signal_number};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn kept_as_another_user() {
    all_as_another_user("kept_as_another_user");
}

#[test]
fn input_goes_in_and_both_streams_come_out_as_bytes() {
    let place = Place::confined();
    let process =
        TestProcess::start(&place, "read line; echo \"got $line\"; printf '\\377' >&2; cat");
    process.write(b"one\n").expect("taken");
    process.says("got one\n");
    process.write(b"rest").expect("taken");
    process.close_input();
    let end = process.ended();
    assert_eq!((end.exit, end.left_running), (Some(Exit::Code(0)), 0));
    assert_eq!(process.output(Stream::Stdout), "got one\nrest");
    assert_eq!(process.read(Stream::Stderr, 0, 9).bytes, [0xFF]);
    assert!(
        process.read(Stream::Stdout, 12, 9).is_ended && process.read(Stream::Stderr, 1, 9).is_ended
    );
    assert_eq!(process.write(b"late"), Err(InputError::Closed));
}

#[test]
fn streams_can_be_one_in_the_order_of_arrival() {
    let place = Place::confined();
    let options = ProcessOptions { streams: Streams::Joined, ..ProcessOptions::default() };
    let script = "echo a; echo b >&2; echo c";
    let process = TestProcess::with(&place, "sh", &["-c", script], &options).expect("started");
    process.ended();
    assert_eq!(process.output(Stream::Stdout), "a\nb\nc\n");
    assert_eq!(process.output(Stream::Stderr), "");
}

#[test]
fn a_process_without_input_reads_its_end_at_once() {
    let place = Place::confined();
    let stdio = Stdio::Pipes { has_input: false };
    let options = ProcessOptions { stdio, ..ProcessOptions::default() };
    let process = TestProcess::with(&place, "cat", &[], &options).expect("started");
    assert_eq!(process.ended().exit, Some(Exit::Code(0)));
    assert_eq!(process.write(b"x"), Err(InputError::None));
}

#[test]
fn a_command_that_cannot_start_is_refused_and_leaves_nothing() {
    let place = Place::confined();
    let start =
        |cmd: &str| TestProcess::with(&place, cmd, &[], &ProcessOptions::default()).map(drop);
    for cmd in ["no-such-program-anywhere", "./missing"] {
        match start(cmd) {
            Err(ExecError::Spawn { reason: SpawnReason::NotFound, .. }) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(matches!(start(""), Err(ExecError::InvalidInput { .. })));
}

#[test]
fn a_signal_reaches_the_group_and_a_kill_everything() {
    let place = Place::confined();
    let process = TestProcess::start(
        &place,
        "trap 'echo int; exit 3' INT; echo up; while :; do sleep 0.05; done",
    );
    process.says("up\n");
    process.signal(signal_number("SIGINT").expect("known"));
    assert_eq!(process.ended().exit, Some(Exit::Code(3)));
    let process = TestProcess::start(
        &place,
        "trap '' TERM INT HUP; setsid sleep 60 & (setsid sh -c 'trap \"\" TERM; sleep 61 & sleep 62' &) ; \
         nohup sleep 63 & echo up; sleep 64",
    );
    process.says("up\n");
    let started = Instant::now();
    process.kill();
    let end = process.ended();
    assert!(started.elapsed() < SECOND, "{:?}", started.elapsed());
    assert!(matches!(end.exit, Some(Exit::Signal { number: 9, .. })), "{end:?}");
    assert!(place.is_clear(), "{:?}", place.processes());
}

#[test]
fn a_dropped_process_is_gone_and_so_is_what_it_left() {
    let place = Place::confined();
    drop(TestProcess::start(&place, "setsid sleep 60 & sleep 61"));
    assert!(place.is_clear());
    let process = TestProcess::start(&place, "setsid sleep 60 & echo started; exit 5");
    let end = process.ended();
    assert_eq!(end.exit, Some(Exit::Code(5)));
    assert!(end.left_running >= 1 || !has_namespaces(), "{end:?}");
    assert!(place.is_clear());
}

#[test]
fn its_worker_runs_other_commands_afterwards() {
    let place = Place::confined();
    let before = place.output(support::place::WORKER);
    let process = TestProcess::start(&place, "cat");
    assert_ne!(place.output(support::place::WORKER), before);
    process.kill();
    process.ended();
    drop(process);
    assert_eq!(place.output(support::place::WORKER), before);
}

#[test]
fn output_that_is_held_stops_the_process_until_it_is_read() {
    let place = Place::confined();
    let options = ProcessOptions { holds: true, tail_bytes: 1 << 16, ..ProcessOptions::default() };
    let script =
        "i=0; while [ $i -lt 40 ]; do head -c 65536 /dev/zero; i=$((i+1)); echo $i > at; done";
    let process = TestProcess::with(&place, "sh", &["-c", script], &options).expect("started");
    let at = || std::fs::read_to_string(place.root.join("at")).unwrap_or_default();
    assert!(soon(|| !at().is_empty()));
    std::thread::sleep(Duration::from_millis(200));
    let written = at();
    assert!(written.trim().parse::<u32>().expect("a number") < 5, "{written}");
    assert_eq!(process.end(), None);
    let (mut next, mut count) = (0, 0);
    let whole = process.until(LONG, |process| {
        loop {
            let piece = process.read(Stream::Stdout, next, 1 << 20);
            assert_eq!(piece.at, next, "nothing is lost");
            count += piece.bytes.len();
            next = piece.next();
            if piece.is_ended || piece.bytes.is_empty() {
                return piece.is_ended.then_some(count);
            }
        }
    });
    assert_eq!(whole, Some(40 << 16));
}

#[test]
fn input_waits_until_the_process_takes_it() {
    let place = Place::confined();
    let process = TestProcess::start(&place, "sleep 0.3; wc -c");
    let end = process.write(&vec![b'x'; 3 << 20]).expect("taken");
    assert_eq!(end, 3 << 20);
    assert!(process.input().written < end, "{:?}", process.input());
    process.close_input();
    assert!(!process.input().is_open);
    assert_eq!(process.ended().exit, Some(Exit::Code(0)));
    assert_eq!(process.output(Stream::Stdout).trim(), (3 << 20).to_string());
    // A process that reads nothing ends the input by ending.
    let process = TestProcess::start(&place, "exec <&-; echo closed; sleep 60");
    process.says("closed");
    process.write(&vec![b'x'; 1 << 20]).expect("taken");
    assert!(process.until(LONG, |process| (!process.input().is_open).then_some(())).is_some());
}

#[test]
fn what_was_used_is_reported() {
    let place = Place::confined();
    let script = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done & wait; \
                  head -c 60000000 /dev/zero | tail -c 60000000 | wc -c";
    let end = TestProcess::start(&place, script).ended();
    assert!(end.usage.user_us > 10_000, "{end:?}");
    assert!(end.usage.peak_bytes > 50_000_000, "{end:?}");
    let cpu = Duration::from_micros(end.usage.user_us + end.usage.system_us);
    assert!(cpu < end.duration * 8, "{end:?}");
    let small = TestProcess::start(&place, "true").ended();
    assert!(small.usage.peak_bytes < 50_000_000, "{small:?}");
}

#[test]
fn a_terminal_is_one_for_the_program_and_can_be_resized() {
    let place = Place::confined();
    if !has_namespaces() {
        return;
    }
    let process = TestProcess::in_terminal(
        &place,
        "sh",
        &["-c", "tty; stty size; read line; stty size; echo \"<$line>\""],
    );
    process.says("/dev/pts/");
    process.says("24 80");
    process.resize(TerminalSize { columns: 132, rows: 50 }).expect("resized");
    process.write(b"typed\r").expect("taken");
    process.says("50 132");
    process.says("<typed>");
    assert_eq!(process.ended().exit, Some(Exit::Code(0)));
    let piped = TestProcess::start(&place, "cat");
    assert!(piped.resize(TerminalSize { columns: 1, rows: 1 }).is_err());
}

#[test]
fn keys_of_a_terminal_end_and_interrupt() {
    let place = Place::confined();
    if !has_namespaces() {
        return;
    }
    let process = TestProcess::in_terminal(&place, "cat", &[]);
    process.write(b"a\n").expect("taken");
    process.says("a\r\na\r\n");
    process.close_input();
    assert_eq!(process.ended().exit, Some(Exit::Code(0)));
    let process = TestProcess::in_terminal(&place, "sleep", &["60"]);
    process.write(b"\x03").expect("taken");
    assert!(matches!(process.ended().exit, Some(Exit::Signal { number: 2, .. })));
    // An interactive shell has job control.
    let process = TestProcess::in_terminal(&place, "sh", &["-i"]);
    process.write(b"sleep 60\n").expect("taken");
    process.says("sleep 60\r\n");
    std::thread::sleep(Duration::from_millis(200));
    process.write(b"\x03echo $((20+3))\n").expect("taken");
    process.says("23");
    process.write(b"exit 7\n").expect("taken");
    assert_eq!(process.ended().exit, Some(Exit::Code(7)));
}

#[test]
fn all_output_of_a_terminal_comes_before_its_end() {
    let place = Place::confined();
    if !has_namespaces() {
        return;
    }
    for _ in 0..20 {
        let process = TestProcess::in_terminal(&place, "sh", &["-c", "seq 1 2000; echo last"]);
        process.ended();
        let output = process.output(Stream::Stdout);
        assert!(output.ends_with("2000\r\nlast\r\n"), "{}", output.len());
    }
}

/// The memory that this process has in use.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("there");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("there");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") << 10
}

#[test]
fn much_output_is_followed_by_its_position_with_little_memory() {
    let factor =
        std::env::var("TOOLWRIGHT_SOAK_FACTOR").ok().and_then(|factor| factor.parse().ok());
    let size: u64 = (100 << 20) * factor.unwrap_or(1);
    let place = Place::confined();
    let options = ProcessOptions { holds: true, ..ProcessOptions::default() };
    let script = format!("yes 0123456789abcde | head -c {size}");
    let process = TestProcess::with(&place, "sh", &["-c", &script], &options).expect("started");
    let before = resident();
    let (mut next, mut peak) = (0, before);
    let whole = process.until(LONG * 20, |process| {
        loop {
            let piece = process.read(Stream::Stdout, next, 1 << 18);
            assert_eq!(piece.at, next, "nothing is lost");
            let expected = b"0123456789abcde\n".iter().cycle().skip((next % 16) as usize);
            assert!(piece.bytes.iter().eq(expected.take(piece.bytes.len())));
            next = piece.next();
            peak = peak.max(resident());
            if piece.is_ended || piece.bytes.is_empty() {
                return piece.is_ended.then_some(next);
            }
        }
    });
    assert_eq!(whole, Some(size));
    let grown = peak.saturating_sub(before);
    eprintln!("{} MiB, {} KiB more memory", size >> 20, grown >> 10);
    assert!(grown < 32 << 20, "{grown}");
}

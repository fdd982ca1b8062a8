//! Both streams apart at their beginning, and the whole elsewhere.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use toolwright_exec::{
    Cancel, ExecError, ExecRequest, Head, Overflow, Split, StoppedBy, Streams, run, run_streaming,
};

struct Whole {
    bytes: Vec<u8>,
    limit: usize,
}

impl Overflow for Whole {
    fn take(&mut self, bytes: &[u8]) -> bool {
        let room = self.limit - self.bytes.len();
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        bytes.len() <= room
    }
}

/// The head, the whole, and whether the command was stopped for it.
fn shell(line: &str, head: usize, limit: usize) -> (Head, Vec<u8>, bool) {
    let args = ["-c".to_owned(), line.to_owned()];
    let mut whole = Whole { bytes: Vec::new(), limit };
    let (stop, cancel) = (AtomicBool::new(false), Cancel::new());
    let mut split = Split::new(head, Some(&mut whole), &stop);
    let request = ExecRequest {
        cwd: Path::new("/"),
        timeout: Duration::from_secs(30),
        max_output_bytes: 0,
        streams: Streams::Apart,
        cancel: &StoppedBy { cancel: &cancel, stop: &stop },
        ..ExecRequest::new("sh", &args)
    };
    let ended = run_streaming(&request, &mut split);
    let head = split.into_head();
    let stopped = stop.load(Ordering::Relaxed);
    match ended {
        Ok(_) => {}
        Err(ExecError::Cancelled { .. }) if stopped => {}
        Err(error) => panic!("{error}"),
    }
    (head, whole.bytes, stopped)
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn streams_are_apart_and_nothing_is_spilled_that_fits() {
    let (head, whole, _) = shell("echo out; echo err >&2", 100, 1000);
    assert_eq!((text(&head.stdout), text(&head.stderr), head.truncated), ("out\n", "err\n", false));
    assert!(whole.is_empty());
}

#[test]
fn the_limit_is_for_both_streams_together_and_exact_to_the_byte() {
    let line = "printf 12345; sleep 0.05; printf 67890 >&2";
    let (head, whole, _) = shell(line, 10, 1000);
    assert_eq!((text(&head.stdout), text(&head.stderr), head.truncated), ("12345", "67890", false));
    assert!(whole.is_empty(), "exactly full is not truncated");
    let (head, whole, _) = shell(line, 9, 1000);
    assert_eq!((text(&head.stdout), text(&head.stderr), head.truncated), ("12345", "6789", true));
    assert_eq!(text(&whole), "1234567890");
}

#[test]
fn the_whole_is_in_the_order_of_arrival() {
    let line = "for i in 1 2 3; do echo out$i; sleep 0.05; echo err$i >&2; sleep 0.05; done";
    let (head, whole, _) = shell(line, 8, 1000);
    assert_eq!(text(&whole), "out1\nerr1\nout2\nerr2\nout3\nerr3\n");
    assert!(head.truncated);
}

#[test]
fn no_character_is_split_at_the_end_of_the_head() {
    let (head, whole, _) = shell("printf 'a漢字'", 5, 1000);
    assert_eq!((text(&head.stdout), text(&whole)), ("a漢", "a漢字"));
}

#[test]
fn a_flood_is_stopped_when_the_whole_is_full() {
    let started = Instant::now();
    let (head, whole, stopped) = shell("yes 0123456789", 1000, 1_000_000);
    assert!(stopped && started.elapsed() < Duration::from_secs(10));
    assert_eq!((head.stdout.len(), whole.len()), (1000, 1_000_000));
    assert!(whole.starts_with(&head.stdout));
}

#[test]
fn without_a_place_for_the_whole_a_flood_runs_to_its_end() {
    let args = ["-c".to_owned(), "head -c 3000000 /dev/zero | tr '\\0' x; echo end >&2".to_owned()];
    let stop = AtomicBool::new(false);
    let mut split = Split::new(1000, None, &stop);
    let request = ExecRequest {
        cwd: Path::new("/"),
        max_output_bytes: 0,
        streams: Streams::Apart,
        ..ExecRequest::new("sh", &args)
    };
    run_streaming(&request, &mut split).unwrap();
    let head = split.into_head();
    assert_eq!((head.stdout.len() + head.stderr.len(), head.truncated), (1000, true));
}

#[test]
fn what_was_drawn_over_counts_once_and_all_of_it_is_elsewhere() {
    let line = "for n in 1 2 3 4 5 6 7 8 9; do printf '\\r%s0%%' $n; done; echo; echo err >&2";
    let (head, whole, _) = shell(line, 20, 1000);
    assert_eq!((text(&head.stdout), text(&head.stderr), head.truncated), ("90%\n", "err\n", false));
    assert!(whole.starts_with(b"\r10%\r20%"), "{}", text(&whole));
    let (head, _, _) = shell("seq 100; printf '\\033[31mred\\033[0m'", 20, 1000);
    assert!(head.truncated && head.stdout == b"1\n2\n3\n4\n5\n6\n7\n8\n9\n10", "{head:?}");
}

fn captured(line: &str, is_screen: bool) -> (String, bool) {
    let args = ["-c".to_owned(), line.to_owned()];
    let request = ExecRequest {
        cwd: Path::new("/"),
        max_output_bytes: 2000,
        is_screen,
        ..ExecRequest::new("sh", &args)
    };
    let finished = run(&request).unwrap();
    (text(&finished.output.bytes).to_owned(), finished.output.truncated)
}

#[test]
fn a_screen_is_read_before_it_is_cut() {
    let bar = "echo begin; for n in $(seq 2000); do printf '\\r%s' $n; done; printf '\\n\\033[1mend\\033[m\\n'";
    assert_eq!(captured(bar, true), ("begin\n2000\nend\n".to_owned(), false));
    let (bytes, is_cut) = captured(bar, false);
    assert!(is_cut && bytes.contains("\r1999"), "{bytes}");
    // What was kept already is drawn over as well.
    let (late, is_cut) = captured("seq 1000; printf '\\033[1A\\033[Kdone\\n'", true);
    assert!(is_cut && late.ends_with("\n998\n999\ndone\n"), "{late}");
    assert!(late.starts_with("1\n2\n") && late.contains("[output cut: "), "{late}");
}

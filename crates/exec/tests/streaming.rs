//! Output while the command runs.

#![cfg(target_os = "linux")]

mod support;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use support::{LATE, is_alive, pids, soon, strings};
use toolwright_exec::{
    Cancel, CancelSource, Chunk, ExecError, ExecRequest, Exit, Finished, Sink, Stream, Streams,
    run_streaming,
};

const SHORT: Duration = Duration::from_millis(200);

/// Keeps everything, and is ready while `gate` is open.
struct CollectingSink<'a> {
    gate: &'a AtomicBool,
    chunks: Vec<(Stream, Vec<u8>, Instant)>,
    cuts: Vec<Stream>,
    asked: usize,
}

impl<'a> CollectingSink<'a> {
    fn new(gate: &'a AtomicBool) -> Self {
        Self { gate, chunks: Vec::new(), cuts: Vec::new(), asked: 0 }
    }

    fn all(&self, of: Stream) -> Vec<u8> {
        let chunks = self.chunks.iter().filter(|(stream, ..)| *stream == of);
        chunks.flat_map(|(_, bytes, _)| bytes.iter().copied()).collect()
    }
}

impl Sink for CollectingSink<'_> {
    fn ready(&mut self) -> bool {
        self.asked += 1;
        self.gate.load(Ordering::Acquire)
    }

    fn push(&mut self, chunk: Chunk<'_>) {
        assert!(!chunk.bytes.is_empty());
        assert!(!self.cuts.contains(&chunk.stream), "pushed after the cut");
        self.chunks.push((chunk.stream, chunk.bytes.to_vec(), Instant::now()));
    }

    fn cut(&mut self, stream: Stream) {
        self.cuts.push(stream);
    }
}

static OPEN: AtomicBool = AtomicBool::new(true);

fn streamed(
    script: &str,
    streams: Streams,
    max_output_bytes: usize,
    sink: &mut dyn Sink,
) -> Result<Finished, ExecError> {
    let args = strings(&["-c", script]);
    let cancel = Cancel::new();
    let request =
        ExecRequest { streams, max_output_bytes, cancel: &cancel, ..ExecRequest::new("sh", &args) };
    run_streaming(&request, sink)
}

#[test]
fn it_comes_while_the_command_runs() {
    let mut sink = CollectingSink::new(&OPEN);
    let finished = streamed("echo a; sleep 0.15; echo b", Streams::Joined, 100, &mut sink);
    assert_eq!(finished.expect("runs").output.bytes, b"a\nb\n");
    let [(Stream::Joined, a, first), (_, b, second)] = &sink.chunks[..] else { panic!() };
    assert_eq!((a.as_slice(), b.as_slice()), (b"a\n".as_slice(), b"b\n".as_slice()));
    assert!(*second - *first > Duration::from_millis(100));
}

#[test]
fn the_chunks_are_the_output() {
    let script = "seq 20000; echo wrong >&2; seq 100 >&2; printf '\\303'";
    let mut sink = CollectingSink::new(&OPEN);
    let finished = streamed(script, Streams::Joined, 1 << 20, &mut sink).expect("runs");
    assert_eq!(finished.stderr, None);
    assert_eq!(sink.all(Stream::Joined), finished.output.bytes);
    let mut sink = CollectingSink::new(&OPEN);
    let finished = streamed(script, Streams::Apart, 1 << 20, &mut sink).expect("runs");
    assert_eq!(sink.all(Stream::Stdout), finished.output.bytes);
    assert_eq!(finished.output.bytes.last(), Some(&0o303), "what is not UTF-8 is not dropped");
    assert_eq!(sink.all(Stream::Stderr), finished.stderr.expect("apart").bytes);
    assert!(sink.all(Stream::Stderr).starts_with(b"wrong\n1\n"));
    assert_eq!(sink.all(Stream::Joined), b"");
    assert!(sink.cuts.is_empty());
}

#[test]
fn a_character_waits_for_its_end() {
    let script =
        "printf 'a\\303'; sleep 0.05; printf '\\251\\360\\237'; sleep 0.05; printf '\\230\\200b'";
    let mut sink = CollectingSink::new(&OPEN);
    assert!(streamed(script, Streams::Joined, 100, &mut sink).is_ok());
    for (_, bytes, _) in &sink.chunks {
        assert!(std::str::from_utf8(bytes).is_ok(), "{bytes:?}");
    }
    assert_eq!(sink.all(Stream::Joined), "aé😀b".as_bytes());
}

#[test]
fn past_the_limit_the_command_runs_on() {
    let mut sink = CollectingSink::new(&OPEN);
    let script = "yes é | head -c 3000000; echo end; echo err >&2";
    let finished = streamed(script, Streams::Apart, 5000, &mut sink).expect("runs");
    assert!(finished.output.truncated && finished.output.bytes.ends_with(b"\nend\n"));
    assert_eq!(finished.output.total_bytes, 3_000_004);
    assert_eq!(sink.cuts, [Stream::Stdout]);
    let pushed = String::from_utf8(sink.all(Stream::Stdout)).expect("whole characters");
    assert!((4997..=5000).contains(&pushed.len()));
    assert!(pushed.as_bytes().starts_with(&finished.output.bytes[..2400]));
    assert_eq!(sink.all(Stream::Stderr), b"err\n");
}

/// Becomes unready for good once it has been cut.
struct Once(bool);

impl Sink for Once {
    fn ready(&mut self) -> bool {
        !self.0
    }

    fn push(&mut self, _: Chunk<'_>) {}

    fn cut(&mut self, _: Stream) {
        self.0 = true;
    }
}

#[test]
fn past_the_limit_the_sink_holds_nothing_back() {
    let script = "head -c 1000000 /dev/zero; sleep 0.1; head -c 1000000 /dev/zero";
    let finished = streamed(script, Streams::Joined, 1000, &mut Once(false)).expect("runs");
    assert_eq!((finished.exit, finished.output.total_bytes), (Exit::Code(0), 2_000_000));
}

#[test]
fn a_sink_that_is_not_ready_holds_the_command_back() {
    let dir = tempfile::tempdir().expect("dir");
    let script = format!("head -c 500000 /dev/zero; : > {}/done", dir.path().display());
    let done = || dir.path().join("done").exists();
    let gate = AtomicBool::new(false);
    for wakes in [false, true] {
        gate.store(false, Ordering::Release);
        let cancel = Cancel::new();
        let flag = AtomicBool::new(false);
        let args = strings(&["-c", &script]);
        let cancel_source: &dyn CancelSource = if wakes { &cancel } else { &flag };
        let request = ExecRequest {
            cancel: cancel_source,
            max_output_bytes: 1 << 20,
            ..ExecRequest::new("sh", &args)
        };
        thread::scope(|scope| {
            let call = scope.spawn(|| {
                let mut sink = CollectingSink::new(&gate);
                let finished = run_streaming(&request, &mut sink).expect("runs");
                assert!(sink.chunks[0].2 - Instant::now() < SHORT);
                assert!(sink.asked < 1000, "{} times asked", sink.asked);
                (finished, sink.all(Stream::Joined))
            });
            thread::sleep(SHORT);
            assert!(!done(), "it was not held back");
            gate.store(true, Ordering::Release);
            cancel.wake();
            let (finished, all) = call.join().expect("no panic");
            assert_eq!(all.len(), 500_000);
            assert_eq!(finished.output.bytes, all);
        });
        assert!(done());
        std::fs::remove_file(dir.path().join("done")).expect("removed");
    }
}

#[test]
fn time_and_cancel_and_end_do_not_wait_for_the_sink() {
    static SHUT: AtomicBool = AtomicBool::new(false);
    let args = strings(&["-c", "echo $$; sleep 60 & echo $!; yes"]);
    let cancel = Cancel::new();
    let request = ExecRequest {
        timeout: SHORT,
        cancel: &cancel,
        max_output_bytes: 10_000,
        ..ExecRequest::new("sh", &args)
    };
    let check = |result: Result<Finished, ExecError>, sink: &CollectingSink<'_>| {
        let Err(ExecError::TimedOut { output, .. } | ExecError::Cancelled { output, .. }) = result
        else {
            panic!("{result:?}")
        };
        assert!(output.truncated);
        assert_eq!(sink.cuts, [Stream::Joined]);
        for pid in pids(&output.bytes[..20]).into_iter().take(2) {
            assert!(soon(|| !is_alive(pid)), "{pid} survived");
        }
    };
    let (started, mut sink) = (Instant::now(), CollectingSink::new(&SHUT));
    let result = run_streaming(&request, &mut sink);
    assert!(started.elapsed() < SHORT + LATE);
    assert!(matches!(result, Err(ExecError::TimedOut { .. })));
    check(result, &sink);

    let request = ExecRequest { timeout: Duration::from_secs(30), ..request };
    let (started, mut sink) = (Instant::now(), CollectingSink::new(&SHUT));
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(SHORT);
            cancel.cancel();
        });
        let result = run_streaming(&request, &mut sink);
        assert!(started.elapsed() < SHORT + LATE);
        assert!(matches!(result, Err(ExecError::Cancelled { .. })));
        check(result, &sink);
    });

    let (started, mut sink) = (Instant::now(), CollectingSink::new(&SHUT));
    let finished = streamed("echo hi; echo err >&2; sleep 60 &", Streams::Apart, 100, &mut sink);
    assert!(started.elapsed() < LATE);
    assert_eq!(finished.expect("runs").output.bytes, b"hi\n");
    assert_eq!(sink.all(Stream::Stdout), b"hi\n");
    assert_eq!(sink.all(Stream::Stderr), b"err\n");
}

/// From the wake-up until the sink is asked again, or the call is back.
#[test]
fn a_wake_up_does_not_wait_for_the_tick() {
    struct Asked<'a>(&'a AtomicUsize);
    impl Sink for Asked<'_> {
        fn ready(&mut self) -> bool {
            self.0.fetch_add(1, Ordering::AcqRel);
            true
        }
        fn push(&mut self, _: Chunk<'_>) {}
    }
    let mut times = Vec::new();
    for _ in 0..15 {
        let (args, cancel, asked) = (strings(&["30"]), Cancel::new(), AtomicUsize::new(0));
        let request = ExecRequest { cancel: &cancel, ..ExecRequest::new("sleep", &args) };
        thread::scope(|scope| {
            let call = scope.spawn(|| {
                assert!(run_streaming(&request, &mut Asked(&asked)).is_err());
                Instant::now()
            });
            thread::sleep(Duration::from_millis(40));
            // Asleep without ticking: nothing has happened since the start.
            assert!(asked.load(Ordering::Acquire) <= 2);
            cancel.wake();
            assert!(soon(|| asked.load(Ordering::Acquire) >= 2));
            let cancelled = Instant::now();
            cancel.cancel();
            times.push(call.join().expect("no panic") - cancelled);
        });
    }
    times.sort_unstable();
    // On a busy machine not all of them are at once.
    assert!(times[2] < Duration::from_millis(8), "{times:?}");
}

/// Two calls with one `Cancel`: both end.
#[test]
fn a_shared_cancel_reaches_every_call() {
    let (args, cancel) = (strings(&["30"]), Cancel::new());
    let request = ExecRequest { cancel: &cancel, ..ExecRequest::new("sleep", &args) };
    let started = Instant::now();
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let result = toolwright_exec::run(&request);
                assert!(matches!(result, Err(ExecError::Cancelled { .. })), "{result:?}");
            });
        }
        thread::sleep(Duration::from_millis(50));
        cancel.wake();
        cancel.cancel();
    });
    assert!(started.elapsed() < Duration::from_secs(3));
}

#[test]
fn a_sink_that_panics_leaves_nothing_running() {
    struct Panics;
    impl Sink for Panics {
        fn ready(&mut self) -> bool {
            true
        }
        fn push(&mut self, chunk: Chunk<'_>) {
            std::panic::panic_any(chunk.bytes.to_vec());
        }
    }
    let call = || streamed("echo $$; exec sleep 60", Streams::Joined, 100, &mut Panics);
    let panic = std::panic::catch_unwind(call).expect_err("panics");
    let message = panic.downcast::<Vec<u8>>().expect("bytes");
    assert!(soon(|| !is_alive(pids(&message)[0])));
}

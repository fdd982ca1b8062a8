//! Output while the command runs is the same, confined or not, and takes no more memory.

#![cfg(target_os = "linux")]

mod support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use support::place::Place;
use support::{LATE, done_alone, factor, memory, strings};
use toolwright_exec::{
    Cancel, CancelSource, Chunk, ExecError, ExecRequest, Exit, Finished, Sink, Stream, Streams,
    run_streaming,
};

const SHORT: Duration = Duration::from_millis(200);

static OPEN: AtomicBool = AtomicBool::new(true);
static SHUT: AtomicBool = AtomicBool::new(false);

/// Keeps everything, and is ready while `gate` is open.
struct CollectingSink<'a> {
    gate: &'a AtomicBool,
    chunks: Vec<(Stream, Vec<u8>, Instant)>,
    cuts: Vec<Stream>,
}

impl<'a> CollectingSink<'a> {
    fn new(gate: &'a AtomicBool) -> Self {
        Self { gate, chunks: Vec::new(), cuts: Vec::new() }
    }

    fn all(&self, of: Stream) -> Vec<u8> {
        let chunks = self.chunks.iter().filter(|(stream, ..)| *stream == of);
        chunks.flat_map(|(_, bytes, _)| bytes.iter().copied()).collect()
    }
}

impl Sink for CollectingSink<'_> {
    fn ready(&mut self) -> bool {
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

fn streamed(
    place: &Place,
    script: &str,
    streams: Streams,
    max_output_bytes: usize,
    sink: &mut dyn Sink,
) -> Result<Finished, ExecError> {
    let (args, cancel) = (strings(&["-c", script]), Cancel::new());
    let request =
        ExecRequest { streams, max_output_bytes, cancel: &cancel, ..place.request("sh", &args) };
    run_streaming(&request, sink)
}

#[test]
fn it_comes_while_the_command_runs() {
    for place in Place::both() {
        let mut sink = CollectingSink::new(&OPEN);
        let script = "echo a; sleep 0.15; echo b";
        let finished = streamed(&place, script, Streams::Joined, 100, &mut sink);
        assert_eq!(finished.expect("runs").output.bytes, b"a\nb\n");
        let [(Stream::Joined, a, first), (_, b, second)] = &sink.chunks[..] else { panic!() };
        assert_eq!((a.as_slice(), b.as_slice()), (b"a\n".as_slice(), b"b\n".as_slice()));
        assert!(*second - *first > Duration::from_millis(100));
    }
}

#[test]
fn the_chunks_are_the_output() {
    for place in Place::both() {
        let script = "seq 20000; echo wrong >&2; seq 100 >&2; printf '\\303'";
        let mut sink = CollectingSink::new(&OPEN);
        let finished = streamed(&place, script, Streams::Joined, 1 << 20, &mut sink);
        assert_eq!(sink.all(Stream::Joined), finished.expect("runs").output.bytes);
        let mut sink = CollectingSink::new(&OPEN);
        let finished = streamed(&place, script, Streams::Apart, 1 << 20, &mut sink).expect("runs");
        assert_eq!(sink.all(Stream::Stdout), finished.output.bytes);
        assert_eq!(sink.all(Stream::Stderr), finished.stderr.expect("apart").bytes);
        assert!(sink.all(Stream::Stderr).starts_with(b"wrong\n1\n") && sink.cuts.is_empty());
    }
}

#[test]
fn past_the_limit_the_command_runs_on() {
    for place in Place::both() {
        let mut sink = CollectingSink::new(&OPEN);
        let script = "yes é | head -c 3000000; echo end; echo err >&2";
        let finished = streamed(&place, script, Streams::Apart, 5000, &mut sink).expect("runs");
        assert!(finished.output.truncated && finished.output.bytes.ends_with(b"\nend\n"));
        assert_eq!(
            (finished.output.total_bytes, &sink.cuts[..]),
            (3_000_004, &[Stream::Stdout][..])
        );
        assert_eq!(sink.all(Stream::Stderr), b"err\n");
    }
}

#[test]
fn a_sink_that_is_not_ready_holds_the_command_back() {
    for place in Place::both() {
        let done = place.root.join("done");
        let (cancel, flag) = (Cancel::new(), AtomicBool::new(false));
        for source in [&cancel as &dyn CancelSource, &flag] {
            let gate = AtomicBool::new(false);
            let args = strings(&["-c", "head -c 500000 /dev/zero; : > done"]);
            let request = ExecRequest { cancel: source, ..place.request("sh", &args) };
            thread::scope(|scope| {
                let call = scope.spawn(|| {
                    let mut sink = CollectingSink::new(&gate);
                    let finished = run_streaming(&request, &mut sink).expect("runs");
                    (finished, sink.all(Stream::Joined))
                });
                thread::sleep(SHORT);
                assert!(!done.exists(), "it was not held back");
                gate.store(true, Ordering::Release);
                cancel.wake();
                let (finished, all) = call.join().expect("no panic");
                assert_eq!((all.len(), finished.output.bytes), (500_000, all));
            });
            fs::remove_file(&done).expect("it has run to its end");
        }
    }
}

#[test]
fn time_and_cancel_and_end_do_not_wait_for_the_sink() {
    for place in Place::both() {
        let args = strings(&["-c", "echo first; sleep 60 & yes"]);
        let cancel = Cancel::new();
        let request = ExecRequest { timeout: SHORT, cancel: &cancel, ..place.request("sh", &args) };
        let request = ExecRequest { max_output_bytes: 10_000, ..request };
        let (started, mut sink) = (Instant::now(), CollectingSink::new(&SHUT));
        let result = run_streaming(&request, &mut sink);
        assert!(started.elapsed() < SHORT + LATE);
        assert!(matches!(result, Err(ExecError::TimedOut { .. })), "{result:?}");
        assert_eq!(sink.cuts, [Stream::Joined]);

        let request = ExecRequest { timeout: Duration::from_secs(30), ..request };
        let (started, mut sink) = (Instant::now(), CollectingSink::new(&SHUT));
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(SHORT);
                cancel.cancel();
            });
            let result = run_streaming(&request, &mut sink);
            assert!(started.elapsed() < SHORT + LATE);
            assert!(matches!(result, Err(ExecError::Cancelled { .. })), "{result:?}");
        });

        let (started, mut sink) = (Instant::now(), CollectingSink::new(&SHUT));
        let script = "echo hi; echo err >&2; sleep 60 &";
        let finished = streamed(&place, script, Streams::Apart, 100, &mut sink).expect("runs");
        assert!(started.elapsed() < LATE);
        assert_eq!((finished.exit, finished.output.bytes), (Exit::Code(0), b"hi\n".to_vec()));
        assert_eq!(sink.all(Stream::Stderr), b"err\n");
        assert!(place.is_clear());
    }
}

#[test]
fn a_sink_that_panics_leaves_nothing_running() {
    struct Panics;
    impl Sink for Panics {
        fn ready(&mut self) -> bool {
            true
        }
        fn push(&mut self, _: Chunk<'_>) {
            std::panic::panic_any(());
        }
    }
    for place in Place::both() {
        let call = || {
            let script = "sleep 60 & echo out; exec sleep 60";
            streamed(&place, script, Streams::Joined, 100, &mut Panics)
        };
        let call = std::panic::AssertUnwindSafe(call);
        assert!(std::panic::catch_unwind(call).is_err());
        assert!(place.is_clear());
        assert_eq!(place.output("echo next"), "next");
    }
}

struct Count(usize);

impl Sink for Count {
    fn ready(&mut self) -> bool {
        true
    }

    fn push(&mut self, chunk: Chunk<'_>) {
        self.0 += chunk.bytes.len();
    }
}

const LIMIT: usize = 200_000;

#[test]
fn a_flood_takes_no_more_memory_than_its_limit() {
    if done_alone("a_flood_takes_no_more_memory_than_its_limit", "") {
        return;
    }
    let place = Place::confined();
    let flood = |bytes: u64, streams: Streams| {
        let target = if streams == Streams::Apart { " >&2" } else { "" };
        let script = format!("head -c {bytes} /dev/zero{target}");
        let mut count = Count(0);
        let finished = streamed(&place, &script, streams, LIMIT, &mut count).expect("runs");
        assert_eq!(count.0, LIMIT);
        let flooded = finished.stderr.unwrap_or(finished.output);
        assert!(flooded.total_bytes == bytes && (LIMIT - 9..=LIMIT).contains(&flooded.bytes.len()));
    };
    flood(1_000_000, Streams::Joined);
    let before = memory("VmHWM");
    flood(factor() << 28, Streams::Joined);
    flood(factor() << 26, Streams::Apart);
    assert!(memory("VmHWM") - before < 2048, "{} KiB more", memory("VmHWM") - before);
}

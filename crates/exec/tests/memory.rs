//! Floods of output in flat memory. Alone in its binary: it measures the whole process.

#![cfg(target_os = "linux")]

mod support;

use std::time::Duration;

use support::{done_alone, factor, memory, strings};
use toolwright_exec::{Cancel, Chunk, ExecRequest, Finished, Sink, Streams, run, run_streaming};

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

fn flood(bytes: u64, streams: Streams, sink: Option<&mut dyn Sink>) -> Finished {
    let target = if streams == Streams::Apart { " >&2" } else { "" };
    let args = strings(&["-c", &format!("head -c {bytes} /dev/zero{target}")]);
    let request = ExecRequest {
        timeout: Duration::from_secs(600),
        cancel: &Cancel::new(),
        streams,
        ..ExecRequest::new("sh", &args)
    };
    match sink {
        None => run(&request),
        Some(sink) => run_streaming(&request, sink),
    }
    .expect("runs")
}

#[test]
fn a_flood_takes_no_more_memory_than_its_limit() {
    if done_alone("a_flood_takes_no_more_memory_than_its_limit", "") {
        return;
    }
    let large = factor() << 30;
    flood(1_000_000, Streams::Joined, None);
    let before = memory("VmHWM");
    let finished = flood(large, Streams::Joined, None);
    assert_eq!(finished.output.total_bytes, large);
    assert_eq!(finished.output.bytes.len(), LIMIT);
    let finished = flood(large / 4, Streams::Apart, None);
    assert_eq!(finished.stderr.expect("apart").total_bytes, large / 4);
    let mut count = Count(0);
    let finished = flood(large / 4, Streams::Joined, Some(&mut count));
    assert_eq!((finished.output.total_bytes, count.0), (large / 4, LIMIT));
    assert!(memory("VmHWM") - before < 2048, "{} KiB more", memory("VmHWM") - before);
}

/// A limit costs no memory by itself.
#[test]
fn a_large_limit_takes_no_memory_by_itself() {
    if done_alone("a_large_limit_takes_no_memory_by_itself", "") {
        return;
    }
    flood(1000, Streams::Joined, None);
    let before = memory("VmHWM");
    for limit in [1 << 30, usize::MAX] {
        let args = strings(&["hi"]);
        let request = ExecRequest { max_output_bytes: limit, ..ExecRequest::new("echo", &args) };
        assert_eq!(run(&request).expect("runs").output.bytes, b"hi\n");
    }
    assert!(memory("VmHWM") - before < 1024, "{} KiB more", memory("VmHWM") - before);
}

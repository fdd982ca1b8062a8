//! Secrets in what commands print: in the result, and in what a sink gets while they run.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Arc;

use toolwright_exec::{Chunk, ExecRequest, OutputMask, Sink, Streams, run, run_streaming};
use toolwright_mask::{Mask, Secret};

const VALUE: &str = "x7Gk29QmZp41-a8Kd93jfKq02";

fn mask() -> Arc<OutputMask> {
    let secret = Secret::given("DEPLOY_TOKEN", VALUE.as_bytes());
    Arc::new(OutputMask::new(Arc::new(Mask::new(&[secret], false).unwrap())))
}

/// Prints the value in two writes, with a pause between them.
fn script() -> [String; 2] {
    let (one, two) = VALUE.split_at(10);
    [
        "-c".to_owned(),
        format!("printf 'a {one}'; sleep 0.1; printf '{two} b\\n'; printf '{VALUE}' >&2"),
    ]
}

#[derive(Default)]
struct Seen(String);

impl Sink for Seen {
    fn ready(&mut self) -> bool {
        true
    }

    fn push(&mut self, chunk: Chunk<'_>) {
        self.0.push_str(std::str::from_utf8(chunk.bytes).unwrap());
        assert!(!self.0.contains("x7Gk"), "{}", self.0);
    }
}

#[test]
fn both_streams_are_masked_and_counted() {
    for is_screen in [false, true] {
        let (args, mask) = (script(), mask());
        let request = ExecRequest {
            cwd: Path::new("/"),
            streams: Streams::Apart,
            mask: Some(&mask),
            is_screen,
            ..ExecRequest::new("sh", &args)
        };
        let finished = run(&request).unwrap();
        assert_eq!(finished.output.bytes, b"a [DEPLOY_TOKEN] b\n");
        assert_eq!(finished.stderr.unwrap().bytes, b"[DEPLOY_TOKEN]");
        assert_eq!(mask.take().list(), [("DEPLOY_TOKEN".to_owned(), 2)]);
        assert!(mask.take().is_empty(), "it was told");
    }
}

#[test]
fn a_sink_gets_no_part_of_a_secret() {
    let (args, mask, mut seen) = (script(), mask(), Seen::default());
    let request =
        ExecRequest { cwd: Path::new("/"), mask: Some(&mask), ..ExecRequest::new("sh", &args) };
    let finished = run_streaming(&request, &mut seen).unwrap();
    assert_eq!(seen.0, "a [DEPLOY_TOKEN] b\n[DEPLOY_TOKEN]");
    assert_eq!(finished.output.bytes, seen.0.as_bytes());
}

/// What is kept of a long output is what is kept of the masked one: no border of it divides a secret.
#[test]
fn a_cut_shows_no_part_of_a_secret() {
    let mask = mask();
    let args = ["-c".to_owned(), format!("for n in $(seq 300); do echo $n {VALUE}; done")];
    for limit in 1024..1060 {
        let request = ExecRequest {
            cwd: Path::new("/"),
            max_output_bytes: limit,
            mask: Some(&mask),
            ..ExecRequest::new("sh", &args)
        };
        let finished = run(&request).unwrap();
        let text = String::from_utf8(finished.output.bytes).unwrap();
        assert!(
            finished.output.truncated && !text.contains("Gk29") && !text.contains("Kq02"),
            "{text}"
        );
    }
}

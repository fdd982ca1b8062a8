//! Programs whose end is a result, whatever it is.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use toolwright_core::command::capture::{self, CaptureTerms};
use toolwright_core::command::end::End;
use toolwright_core::command::environment::{Policy, of_host};
use toolwright_core::command::output::CommandOutput;
use toolwright_core::command::plan::SandboxOptions;
use toolwright_core::command::program::{Program, ProgramSettings};
use toolwright_core::failure::Unfinished;
use toolwright_exec::{Cancel, Exit};
use toolwright_fs::DirectoryGrant;
use toolwright_sandbox::policy::{Grants, RequestedPaths};

fn terms() -> CaptureTerms {
    CaptureTerms {
        timeout: Duration::from_secs(60),
        stream_bytes: 2_000,
        is_screen: false,
        variables: Vec::new(),
        line: None,
    }
}

fn run(script: &str, terms: &CaptureTerms, cancel: &Cancel) -> Result<CommandOutput, Unfinished> {
    let made = tempfile::tempdir().expect("made");
    let path = made.path().canonicalize().expect("there");
    fs::create_dir(path.join("sub")).expect("made");
    fs::create_dir(path.join(".vscode")).expect("made");
    let root = Arc::new(DirectoryGrant::new("rootDir", &path));
    let nothing = RequestedPaths::default();
    let grants = Grants::new(Arc::clone(&root), nothing.clone(), nothing, Vec::new(), None);
    let settings = ProgramSettings {
        mask: None,
        root,
        grants: Arc::new(grants),
        sandbox: SandboxOptions::default(),
        starts_processes: false,
        environment: Policy::default(),
        // The terms replace these.
        max_output_bytes: 0,
        timeout: Duration::ZERO,
    };
    let args = ["-c", script].map(str::to_owned).to_vec();
    let program = Program { cmd: "sh".to_owned(), args, cwd: "sub".to_owned(), patches: None };
    capture::run(&settings, &program, &of_host(None, None), terms, cancel)
}

#[test]
fn both_streams_and_the_code_are_the_result() {
    let ended = run("echo out; echo err >&2; exit 3", &terms(), &Cancel::new()).expect("a result");
    assert_eq!((&*ended.stdout, &*ended.stderr), ("out\n", "err\n"));
    assert_eq!(ended.end, End::Exited(Exit::Code(3)));
    let ended = run("kill -9 $$", &terms(), &Cancel::new()).expect("a result");
    assert_eq!(ended.end, End::Exited(Exit::Signal { number: 9, name: "SIGKILL".into() }));
}

#[test]
fn a_timeout_is_a_result_with_what_was_printed() {
    let short = CaptureTerms { timeout: Duration::from_secs(2), ..terms() };
    let began = Instant::now();
    let ended = run("echo so; sleep 60", &short, &Cancel::new()).expect("a result");
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!((&*ended.stdout, ended.end), ("so\n", End::TimedOut));
}

#[test]
fn a_cancellation_is_none() {
    let cancel = Cancel::new();
    cancel.cancel();
    assert!(matches!(run("sleep 60", &terms(), &cancel), Err(Unfinished::Cancelled)));
}

#[test]
fn each_long_stream_keeps_its_ends() {
    let script = "seq 1 5000; seq 1 5000 >&2";
    let ended = run(script, &terms(), &Cancel::new()).expect("a result");
    for stream in [&ended.stdout, &ended.stderr] {
        assert!(stream.starts_with("1\n2\n") && stream.ends_with("\n5000\n"), "{stream}");
        assert!(stream.len() <= 2_000);
    }
}

#[test]
fn variables_of_the_call_replace_those_of_the_policy() {
    let own = |name: &str, value: &str| (name.into(), value.into());
    let variables = vec![own("HOME", "/elsewhere"), own("MINE", "mine")];
    let ended = run(
        "echo $HOME $MINE; env | grep -c ^HOME=",
        &CaptureTerms { variables, ..terms() },
        &Cancel::new(),
    );
    assert_eq!(ended.expect("a result").stdout, "/elsewhere mine\n1\n");
}

#[test]
fn a_refused_write_is_explained() {
    let ended =
        run("echo x > ../.vscode/settings.json", &terms(), &Cancel::new()).expect("a result");
    assert_ne!(ended.end, End::Exited(Exit::Code(0)));
    assert!(ended.hint.is_some_and(|hint| hint.contains("sandbox")));
}

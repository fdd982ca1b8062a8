use toolwright_exec::Output;
use toolwright_sandbox::plan::{Files, Network};

use super::*;

fn command(line: &str, bash: Option<&str>) -> CommandLine {
    CommandLine {
        line: line.to_owned(),
        bash: bash.map(str::to_owned),
        environment: Policy::default(),
        options: SessionOptions::default(),
        timeout: Duration::from_secs(1),
        head_bytes: 100,
        sidecar: SidecarRequest { directory: "/".into(), name: "o".to_owned(), limit_bytes: 0 },
        patches: None,
    }
}

#[test]
fn a_line_is_no_option_and_bash_reads_no_file_first() {
    let plain = command("-x", None);
    let (shell, args) = super::shell(&plain);
    assert_eq!(shell, "sh");
    assert_eq!(args, ["-c", "--", "-x"]);
    let bash = command("ls", Some("/bin/bash"));
    let (shell, args) = super::shell(&bash);
    assert_eq!(shell, "/bin/bash");
    assert_eq!(args, ["--norc", "--noprofile", "-c", "--", "ls"]);
}

fn cancelled() -> ExecError {
    ExecError::Cancelled { program: "sh".to_owned(), output: Output::default(), stderr: None }
}

#[test]
fn a_full_sidecar_kills_and_a_caller_cancels() {
    assert_eq!(end(Err(cancelled()), true).expect("an end"), End::killed());
    assert!(matches!(end(Err(cancelled()), false), Err(ExecError::Cancelled { .. })));
    let timed_out = ExecError::TimedOut {
        program: "sh".to_owned(),
        output: Output::default(),
        stderr: None,
        timeout: Duration::from_secs(1),
    };
    assert_eq!(end(Err(timed_out), false).expect("an end"), End::TimedOut);
}

#[test]
fn the_sandbox_explains_every_end_but_success() {
    let plan = Plan {
        root: "/srv".into(),
        network: Network::PrivateLoopback,
        files: Files::Confined,
        ..Plan::default()
    };
    let (no_host, read_only) = ("Could not resolve host: x", "Read-only file system");
    let hint = |line: &str, end: End, printed| super::hint(line, &end, printed, &plan);
    let signal = || End::killed();
    for end in [End::Exited(Exit::Code(1)), End::TimedOut, signal()] {
        let message = hint("make", end.clone(), [no_host, read_only]).expect("explained");
        assert!(message.contains("net.hosts"), "stderr comes first: {message}");
        let message = hint("make", end, ["", read_only]).expect("explained");
        assert!(message.contains("fs.write"), "{message}");
    }
    // What says nothing is known by its name.
    assert!(hint("npx x", End::TimedOut, ["", ""]).is_some());
    assert!(hint("curl https://x", End::Exited(Exit::Code(6)), ["", ""]).is_some());
    assert_eq!(hint("npx x", End::Exited(Exit::Code(1)), ["", ""]), None);
    assert_eq!(hint("npx x", signal(), ["", ""]), None);
}

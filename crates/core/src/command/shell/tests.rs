use toolwright_exec::Output;

use super::*;

fn command(line: &str, bash: Option<&str>) -> CommandLine {
    CommandLine {
        mask: None,
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
fn a_command_that_was_stopped_was_killed_or_cancelled() {
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

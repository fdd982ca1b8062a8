use std::path::{Path, PathBuf};

use toolwright_exec::{Missing, Output, Requirement};

use super::*;

fn program(cmd: &str, args: &[&str]) -> Program {
    let args = args.iter().map(|&arg| arg.to_owned()).collect();
    Program { cmd: cmd.to_owned(), args, cwd: ".".to_owned(), patches: None }
}

fn directory() -> Directory {
    Directory { path: "/srv/sub".into(), opened: "/proc/self/fd/9".into(), below: "sub".into() }
}

fn lost() -> ExecError {
    ExecError::Lost {
        program: "make".to_owned(),
        output: Output::default(),
        stderr: None,
        source: std::io::Error::other("/proc/self/fd/9 is gone"),
    }
}

fn unconfined() -> ExecError {
    let (layer, reason) = ("seccomp", "it is forbidden".to_owned());
    let missing = Missing { layer, requirement: Requirement::BlockedNetwork, reason };
    ExecError::Unconfined { program: "make".to_owned(), missing }
}

#[test]
fn a_code_comes_with_the_output_and_what_the_sandbox_has_to_do_with_it() {
    let exited = |cmd: &str, args: &[&str], code, output: &str, hint: Option<&str>| {
        let noted = Noted { hint: hint.map(str::to_owned), ..Noted::default() };
        super::exited(
            &program(cmd, args),
            &End::Exited(Exit::Code(code)),
            output.to_owned(),
            &noted,
        )
    };
    let failure = exited("make", &["all"], 2, "no rule\n", None);
    assert_eq!(
        failure.message(),
        "Command failed with exit code 2: `make` [TOOL_COMMAND_FAILED] Output:\nno rule\n"
    );
    assert_eq!(failure.details["exitCode"], 2);
    assert_eq!(failure.details["cmd"], "make");
    assert_eq!(failure.details["args"][0], "all");
    assert_eq!(failure.details["output"], "no rule\n");
    let silent = exited("false", &[], 1, "", None).message();
    assert!(silent.ends_with("[TOOL_COMMAND_FAILED] It printed nothing."), "{silent}");
    let printed = exited("make", &[], 1, "Could not resolve host: x\n", Some("The cause."));
    assert_eq!(printed.hint, "The cause.");
    assert!(printed.message().ends_with("host: x\nThe cause."));
}

#[test]
fn a_signal_is_named_and_says_nothing_of_the_network() {
    let exit = Exit::Signal { number: 9, name: "SIGKILL".into() };
    let program = program("curl", &["https://x"]);
    let failure = exited(&program, &End::Exited(exit), String::new(), &Noted::default());
    assert_eq!(failure.summary, "Command was killed by SIGKILL");
    assert_eq!(failure.details["signal"], "SIGKILL");
    assert_eq!(failure.details["signalNumber"], 9);
    assert!(!failure.details.contains_key("exitCode"));
    assert_eq!(failure.hint, "");
}

#[test]
fn a_timeout_shows_how_far_the_program_came() {
    let timed_out = |cmd: &str, output: &str, hint: Option<&str>| {
        let noted = Noted { hint: hint.map(str::to_owned), ..Noted::default() };
        let timeout = Duration::from_millis(1500);
        super::timed_out(&program(cmd, &["x"]), timeout, output.to_owned(), &noted)
    };
    let failure = timed_out("make", "one\n", None);
    let message = failure.message();
    let start = "Command timed out after 1500ms: `make` [PROCESS_TIMEOUT] The command and its children were killed. Make it do less";
    assert!(message.starts_with(start), "{message}");
    assert!(message.ends_with(" Output until then:\none\n"), "{message}");
    assert_eq!(failure.details["timeoutMs"], 1500);
    assert_eq!(failure.details["output"], "one\n");
    let silent = timed_out("make", "", None).message();
    assert!(!silent.contains("Output"), "{silent}");
    let waiting = timed_out("npx", "", Some("It waited.")).hint;
    assert_eq!(waiting, "The command and its children were killed. It waited.");
}

#[test]
fn each_door_has_words_of_its_own_for_a_layer_that_is_missing() {
    let tools = program_not_run(&unconfined(), &program("make", &[]), &directory());
    assert_eq!(tools.code, Code::SandboxUnavailable);
    assert_eq!(tools.summary, "Cannot confine make");
    assert_eq!(tools.details["layer"], "seccomp");
    assert_eq!(tools.details["reason"], "it is forbidden");
    assert!(tools.place.contains("Cannot confine make: seccomp is missing"), "{}", tools.place);
    assert!(tools.hint.contains("allowNetwork"), "{}", tools.hint);
    let session = line_not_run(&unconfined(), "make", &directory());
    assert_eq!(session.summary, "Cannot confine the command");
    assert!(session.hint.contains("net.hosts"), "{}", session.hint);
    assert!(!session.details.contains_key("command"));
}

#[test]
fn a_failure_names_the_directory_that_the_caller_knows() {
    let tools = program_not_run(&lost(), &program("make", &[]), &directory());
    assert_eq!(tools.code, Code::ProcessFailed);
    assert!(tools.place.starts_with("Failed to spawn make: "), "{}", tools.place);
    assert!(tools.place.contains("/srv/sub is gone"), "{}", tools.place);
    assert_eq!(tools.details["started"], true);
    let session = line_not_run(&lost(), "make all", &directory());
    assert!(session.place.starts_with("The command could not be run: "), "{}", session.place);
    assert_eq!(session.details["command"], "make all");
    assert_eq!(session.details["started"], true);
    let what = "holds a NUL byte";
    let invalid = ExecError::InvalidInput {
        program: "make".to_owned(),
        what: "args[0]".to_owned(),
        problem: what,
    };
    let invalid = line_not_run(&invalid, "make", &directory());
    assert_eq!(invalid.details["started"], false);
}

#[test]
fn a_replaced_directory_is_no_failure_of_the_program() {
    let changed =
        ExecError::GrantChanged { program: "make".to_owned(), what: "`/srv` was moved".to_owned() };
    for failure in [
        program_not_run(&changed, &program("make", &[]), &directory()),
        line_not_run(&changed, "make", &directory()),
    ] {
        assert_eq!(failure.code, Code::RootChanged);
        assert_eq!(failure.place, "A granted directory was replaced: `/srv` was moved");
        assert!(!failure.details.contains_key("command"));
        assert!(!failure.hint.is_empty());
    }
}

#[test]
fn a_program_without_a_thread_was_not_started() {
    let failure = no_thread("make");
    assert_eq!(failure.place, "Failed to spawn make: the system is out of processes");
    assert_eq!(failure.details["command"], "make");
    assert_eq!(failure.details["started"], false);
    assert_eq!(failure.hint, "Try again when other commands have ended.");
}

#[test]
fn a_directory_is_named_by_its_descriptor_where_the_system_can() {
    let open = std::fs::File::open("/").expect("opened");
    let directory = Directory::new("/srv".into(), PathBuf::new(), std::os::fd::AsFd::as_fd(&open));
    assert_eq!(directory.path, Path::new("/srv"));
    if cfg!(target_os = "linux") {
        assert_eq!(directory.opened.canonicalize().expect("there"), Path::new("/"));
    } else {
        assert_eq!(directory.opened, Path::new("/srv"));
    }
}

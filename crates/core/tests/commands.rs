//! Commands, run for both doors.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use toolwright_core::access::directories::GrantedName;
use toolwright_core::access::policy::{Policy as Access, PolicyRequest, Requirements};
use toolwright_core::access::target::{self, Purpose, Target};
use toolwright_core::command::end::End;
use toolwright_core::command::environment::{Policy, Variables, of_host};
use toolwright_core::command::output::CommandOutput;
use toolwright_core::command::plan::{self, SandboxOptions};
use toolwright_core::command::program::{self, Program, ProgramSettings, Succeeded};
use toolwright_core::command::session::SessionOptions;
use toolwright_core::command::shell::{self, CommandLine};
use toolwright_core::failure::{Failure, Unfinished};
use toolwright_core::sidecar::SidecarRequest;
use toolwright_exec::{Cancel, Exit};
use toolwright_fs::DirectoryGrant;
use toolwright_policy::{Grants as ProcessGrants, Variables as PatternVariables};

#[cfg(target_os = "linux")]
#[path = "commands/kept.rs"]
mod kept;

const LONG: Duration = Duration::from_secs(60);

fn directory() -> (TempDir, PathBuf) {
    let made = tempfile::tempdir().expect("made");
    let root = made.path().canonicalize().expect("there");
    fs::create_dir(root.join("sub")).expect("made");
    (made, root)
}

fn host() -> Arc<Variables> {
    of_host(None, None)
}

fn settings(root: &Path, timeout: Duration) -> ProgramSettings {
    let root = Arc::new(DirectoryGrant::new("rootDir", root));
    let grants = plan::grants(Arc::clone(&root), Vec::new(), Vec::new(), Vec::new(), None);
    ProgramSettings {
        mask: None,
        root,
        grants: Arc::new(grants),
        sandbox: SandboxOptions::default(),
        starts_processes: false,
        environment: Policy::default(),
        max_output_bytes: 1_000,
        timeout,
    }
}

fn sh(script: &str, cwd: &str) -> Program {
    let args = ["-c", script].map(str::to_owned).to_vec();
    Program { cmd: "sh".to_owned(), args, cwd: cwd.to_owned(), patches: None }
}

fn run(script: &str, cwd: &str, timeout: Duration, cancel: &Cancel) -> Result<Succeeded, Failure> {
    let (_made, root) = directory();
    fs::write(root.join("file"), "").expect("written");
    let settings = settings(&root, timeout);
    match program::run(&settings, &sh(script, cwd), &host(), cancel, None) {
        Ok(succeeded) => Ok(succeeded),
        Err(Unfinished::Failed(failure)) => Err(failure),
        Err(cancelled) => panic!("{cancelled:?}"),
    }
}

fn output(ran: Result<Succeeded, Failure>) -> String {
    match ran {
        Ok(Succeeded { output, left_running: 0, .. }) => output,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_program_runs_in_its_directory_and_knows_it() {
    let printed = output(run("pwd; echo \"$PWD\"", "sub", LONG, &Cancel::new()));
    let [pwd, variable] = printed.lines().collect::<Vec<_>>()[..] else { panic!("{printed}") };
    assert_eq!(pwd, variable);
    assert!(pwd.ends_with("/sub"), "{pwd}");
    let printed = output(run("pwd", ".", LONG, &Cancel::new()));
    assert!(!printed.trim_end().ends_with('/'), "{printed}");
}

#[test]
fn a_program_that_fails_gives_its_output() {
    let failure = run("echo so; exit 3", ".", LONG, &Cancel::new()).expect_err("3");
    assert_eq!(failure.code.as_str(), "TOOL_COMMAND_FAILED");
    assert_eq!(failure.details["exitCode"], 3);
    assert_eq!(failure.details["output"], "so\n");
    let failure = run("kill -9 $$", ".", LONG, &Cancel::new()).expect_err("killed");
    assert_eq!(failure.details["signal"], "SIGKILL");
}

#[test]
fn a_program_is_stopped_at_its_timeout_and_by_a_cancellation() {
    let failure =
        run("echo so; sleep 60", "sub", Duration::from_secs(1), &Cancel::new()).expect_err("late");
    assert_eq!(failure.code.as_str(), "PROCESS_TIMEOUT");
    assert_eq!(failure.details["timeoutMs"], 1000);
    assert_eq!(failure.details["command"], "sh");
    assert_eq!(failure.details["args"][0], "-c");
    assert!(failure.details["cwd"].as_str().is_some_and(|cwd| cwd.ends_with("/sub")));
    let cancel = Cancel::new();
    cancel.cancel();
    let (_made, root) = directory();
    let ran = program::run(&settings(&root, LONG), &sh("sleep 60", "."), &host(), &cancel, None);
    assert_eq!(ran, Err(Unfinished::Stopped { output: String::new() }));
}

#[test]
fn a_program_needs_a_directory_below_the_root() {
    for (cwd, code) in [
        ("gone", "TOOL_FILE_NOT_FOUND"),
        ("file", "TOOL_NOT_A_DIRECTORY"),
        ("..", "TOOL_PATH_ESCAPE"),
    ] {
        let failure = run("true", cwd, LONG, &Cancel::new()).expect_err(cwd);
        assert_eq!(failure.code.as_str(), code);
    }
    let failure = run("true", "gone", LONG, &Cancel::new()).expect_err("gone");
    assert_eq!(failure.place, "Directory not found: `gone`");
    assert!(failure.hint.contains("`opts.cwd`"), "{}", failure.hint);
}

#[test]
fn a_program_that_does_not_exist_was_not_started() {
    let (_made, root) = directory();
    let program = Program {
        cmd: "no-such-program".to_owned(),
        args: vec![],
        cwd: ".".to_owned(),
        patches: None,
    };
    let ran = program::run(&settings(&root, LONG), &program, &host(), &Cancel::new(), None);
    let Err(Unfinished::Failed(failure)) = ran else { panic!("{ran:?}") };
    assert_eq!(failure.code.as_str(), "PROCESS_FAILED");
    assert_eq!(failure.details["started"], false);
    assert_eq!(failure.details["cwd"], root.to_string_lossy().as_ref());
}

/// A file that is not made: no output of these commands is too long.
fn sidecar() -> SidecarRequest {
    SidecarRequest { directory: "/".into(), name: "output".to_owned(), limit_bytes: 0 }
}

/// A session whose commands read and write below `open` alone.
struct Session {
    _made: TempDir,
    root: PathBuf,
    policy: Arc<Access>,
}

impl Session {
    fn new() -> Self {
        let (made, root) = directory();
        let path = root.to_string_lossy().into_owned();
        let request = PolicyRequest {
            variables: PatternVariables { workspace: vec![root.clone()], ..Default::default() },
            names: Some(vec![GrantedName { path: root.clone(), written: root.clone() }]),
            conjunction: vec![vec![Requirements {
                source: "manifest.requires".to_owned(),
                set: json!({ "fs": { "read": [format!("{path}/**")] } }),
            }]],
            ..PolicyRequest::default()
        };
        let policy = Access::compile(&request, None).expect("compiled");
        Self { _made: made, root, policy: Arc::new(policy) }
    }

    fn workdir(&self) -> Target {
        let never = AtomicBool::new(false);
        target::open(&self.policy, "sub", Purpose::Workdir, &never).expect("opened")
    }

    fn line(&self, line: &str) -> CommandLine {
        let paths = vec![self.root.clone()];
        let grants =
            ProcessGrants { readable: paths.clone(), writable: paths, ..Default::default() };
        CommandLine {
            mask: None,
            line: line.to_owned(),
            bash: None,
            environment: Policy::default(),
            options: SessionOptions { grants, ..SessionOptions::default() },
            timeout: LONG,
            head_bytes: 100,
            sidecar: sidecar(),
            patches: None,
        }
    }

    fn run(
        &self,
        line: &str,
        change: impl FnOnce(&mut CommandLine),
        cancel: &Cancel,
    ) -> Result<CommandOutput, Unfinished> {
        let mut command = self.line(line);
        change(&mut command);
        shell::run(&self.workdir(), &command, &host(), None, cancel)
    }

    fn ended(&self, line: &str, change: impl FnOnce(&mut CommandLine)) -> CommandOutput {
        self.run(line, change, &Cancel::new()).expect("run")
    }

    fn output(&self, line: &str) -> CommandOutput {
        self.ended(line, |_| ())
    }
}

#[test]
fn a_command_line_runs_in_the_opened_directory() {
    let session = Session::new();
    let ran = session.output("pwd; echo err >&2; echo > made; exit 4");
    assert_eq!(ran.stdout, format!("{}\n", session.root.join("sub").display()));
    assert_eq!(ran.stderr, "err\n");
    assert_eq!(ran.end, End::Exited(Exit::Code(4)));
    assert!(session.root.join("sub/made").exists());
    assert!(!ran.truncated);
    assert_eq!(ran.left_running, 0);
    assert_eq!(session.output("echo 'Read-only file system' >&2").hint, None);
}

#[test]
fn a_command_line_without_an_open_directory_runs_in_the_root_of_the_system() {
    let session = Session::new();
    let nothing = |command: &mut CommandLine| command.options.grants = ProcessGrants::default();
    let ran = session.ended("pwd; ls sub", nothing);
    assert_eq!(ran.stdout, "/\n");
    let line = format!("cat {}/sub/x", session.root.display());
    fs::write(session.root.join("sub/x"), "secret").expect("written");
    let ran = session.ended(&line, nothing);
    assert_eq!(ran.stdout, "", "what the capabilities do not open is closed");
}

#[test]
fn a_directory_that_is_not_there_explains_a_failure() {
    let session = Session::new();
    let gone = session.root.join("gone");
    let opens = |command: &mut CommandLine| command.options.grants.readable.push(gone.clone());
    let ran = session.ended("exit 1", opens);
    assert!(ran.hint.is_some_and(|hint| hint.contains("no such directory is there")));
    let opens = |command: &mut CommandLine| command.options.grants.readable.push(gone.clone());
    assert_eq!(session.ended("exit 0", opens).hint, None);
}

#[test]
fn what_does_not_fit_is_in_the_sidecar_and_a_full_one_ends_no_command() {
    let session = Session::new();
    let own = fs::Permissions::from_mode(0o700);
    fs::set_permissions(&session.root, own).expect("changed");
    let cut = |name: &str, limit_bytes: u64| {
        let (directory, name) = (session.root.clone(), name.to_owned());
        move |command: &mut CommandLine| {
            command.head_bytes = 3;
            command.sidecar = SidecarRequest { directory, name, limit_bytes };
        }
    };
    let ran = session.ended("echo abcdef", cut("all", 1_000));
    assert_eq!((&*ran.stdout, ran.truncated, ran.end), ("abc", true, End::Exited(Exit::Code(0))));
    let file = ran.sidecar.expect("too long").expect("kept");
    assert_eq!(
        (fs::read_to_string(&file.path).expect("there").as_str(), file.left_out),
        ("abcdef\n", 0)
    );
    let long = "yes | head -c 1000000; echo end; exit 3";
    let ran = session.ended(long, cut("much", 10_000));
    assert_eq!(ran.end, End::Exited(Exit::Code(3)));
    let kept = ran.sidecar.expect("too long").expect("kept");
    let file = fs::read_to_string(&kept.path).expect("there");
    let (head, tail) = file.split_once("\n[output cut: ").expect("a gap");
    let (left_out, tail) = tail.split_once(" bytes left out here]\n").expect("a gap");
    assert_eq!((head.len(), left_out.parse()), (10_000, Ok(kept.left_out)));
    assert!(tail.ends_with("y\nend\n"));
    assert_eq!(head.len() as u64 + kept.left_out + tail.len() as u64, 1_000_004);
    // A directory that takes no file ends no command either.
    let ran = session.ended("yes | head -c 1000; exit 4", |command| {
        command.head_bytes = 3;
        command.sidecar.directory = "/absent".into();
    });
    assert_eq!(ran.end, End::Exited(Exit::Code(4)));
    assert!(ran.sidecar.expect("too long").is_err());
    let ran = session.ended("echo ab", cut("none", 1_000));
    assert_eq!((&*ran.stdout, ran.truncated, ran.sidecar), ("ab\n", false, None));
}

#[test]
fn a_command_line_is_stopped_at_its_timeout_and_by_a_cancellation() {
    let session = Session::new();
    let soon = |command: &mut CommandLine| command.timeout = Duration::from_secs(1);
    let ran = session.ended("echo so; sleep 60", soon);
    assert_eq!((&*ran.stdout, ran.end), ("so\n", End::TimedOut));
    let cancel = Cancel::new();
    cancel.cancel();
    let cancelled = session.run("sleep 60", |_| (), &cancel).expect_err("cancelled");
    assert_eq!(cancelled, Unfinished::Cancelled);
}

#[test]
fn a_path_that_the_host_closes_by_name_is_closed_to_commands() {
    let session = Session::new();
    fs::write(session.root.join("sub/closed"), "secret").expect("written");
    assert_eq!(session.output("cat closed").stdout, "secret");
    let closed = session.root.join("sub/closed");
    let deny = |command: &mut CommandLine| command.options.deny_read.push(closed);
    assert_eq!(session.ended("cat closed", deny).stdout, "");
}

#[test]
fn a_directory_that_was_replaced_is_refused_in_the_words_of_a_session() {
    let session = Session::new();
    let workdir = session.workdir();
    let moved = session.root.with_extension("moved");
    fs::rename(&session.root, &moved).expect("moved");
    fs::create_dir(&session.root).expect("made");
    let command = CommandLine {
        mask: None,
        line: "true".to_owned(),
        bash: None,
        environment: Policy::default(),
        options: SessionOptions::default(),
        timeout: LONG,
        head_bytes: 100,
        sidecar: sidecar(),
        patches: None,
    };
    let ran = shell::run(&workdir, &command, &host(), None, &Cancel::new());
    fs::remove_dir_all(&moved).expect("removed");
    let Err(Unfinished::Failed(failure)) = ran else { panic!("it was run") };
    assert_eq!(failure.code.as_str(), "TOOL_ROOT_CHANGED");
    assert_eq!(failure.clone().for_session(), failure);
}

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
use toolwright_core::command::end::{CommandOutput, End};
use toolwright_core::command::environment::{Policy, Variables, of_host};
use toolwright_core::command::kept::{KeptProcess, Wait};
use toolwright_core::command::plan::{self, SandboxOptions};
use toolwright_core::command::process::{self, BackgroundOptions, CommandOutcome};
use toolwright_core::command::program::{self, Program, ProgramSettings, Succeeded};
use toolwright_core::command::running::{Place, Running};
use toolwright_core::command::session::SessionOptions;
use toolwright_core::command::shell::{self, CommandLine};
use toolwright_core::failure::{Failure, Unfinished};
use toolwright_core::sidecar::SidecarRequest;
use toolwright_exec::process::{InputState, Stdio};
use toolwright_exec::{Cancel, Exit, Stream};
use toolwright_fs::DirectoryGrant;
use toolwright_policy::{Grants as ProcessGrants, Variables as PatternVariables};

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
        root,
        grants: Arc::new(grants),
        sandbox: SandboxOptions::default(),
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
fn what_does_not_fit_is_in_the_sidecar_and_a_full_one_ends_the_command() {
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
    assert_eq!(fs::read_to_string(&file).expect("there"), "abcdef\n");
    let ran = session.ended("yes", cut("much", 10_000));
    assert_eq!(ran.end, End::Exited(Exit::Signal { number: 9, name: "SIGKILL".into() }));
    let file = fs::read_to_string(ran.sidecar.expect("too long").expect("kept")).expect("there");
    assert!(
        file.ends_with("[stopped here: the limit of 10000 bytes is reached]\n"),
        "{}",
        &file[9_900..]
    );
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

fn options() -> BackgroundOptions {
    BackgroundOptions {
        place: Place::default(),
        stdio: Stdio::Pipes { has_input: true },
        is_stderr_apart: true,
        head_bytes: 10,
        tail_bytes: 10,
        holds: false,
        file_bytes: 1_000,
        file_directory: None,
    }
}

/// Closes its input, and waits for its end.
fn output_of(kept: &KeptProcess) -> (String, Option<Exit>) {
    let process = &kept.process;
    process.close_input();
    let deadline = std::time::Instant::now() + LONG;
    let end = loop {
        match process.end() {
            Some(end) => break end,
            None => assert!(std::time::Instant::now() < deadline, "it does not end"),
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    // From memory and from the file, piece by piece.
    let (mut output, mut next) = (String::new(), 0);
    loop {
        let piece = process.read(Stream::Stdout, next, 1_000);
        assert_eq!(piece.at, next, "nothing is missing");
        output.push_str(&String::from_utf8_lossy(&piece.bytes));
        next = piece.next();
        if piece.is_ended {
            return (output, end.exit);
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn both_doors_keep_what_they_run_where_and_as_they_would_run_it() {
    let (_made, root) = directory();
    let (settings, cancel) = (settings(&root, Duration::ZERO), Cancel::new());
    let script = "read a; pwd; echo \"$a\"; exit 4";
    let start = |program: &Program| {
        process::start_program(&settings, program, &options(), &host(), &cancel)
    };
    let kept = start(&sh(script, "sub")).expect("started");
    kept.process.write(b"given\n").expect("taken");
    let expected = format!("{}\ngiven\n", root.join("sub").display());
    assert_eq!(output_of(&kept), (expected, Some(Exit::Code(4))));
    let missing = Program {
        cmd: "no-such-program".to_owned(),
        args: vec![],
        cwd: ".".to_owned(),
        patches: None,
    };
    let Err(Unfinished::Failed(failure)) = start(&missing) else { panic!("it was started") };
    assert_eq!(
        (failure.code.as_str(), &failure.details["started"]),
        ("PROCESS_FAILED", &json!(false))
    );

    let session = Session::new();
    let line = session.line(script);
    let kept = process::start_line(&session.workdir(), &line, &options(), &host(), &cancel);
    let kept = kept.expect("started");
    kept.process.write(b"given\n").expect("taken");
    let expected = format!("{}\ngiven\n", session.root.join("sub").display());
    assert_eq!(output_of(&kept), (expected, Some(Exit::Code(4))));
}

/// A command that may go on, with room for `limit` bytes.
fn may_go_on(
    script: &str,
    limit: usize,
    timeout: Duration,
    cancel: &Cancel,
) -> Result<CommandOutcome<Succeeded>, Unfinished> {
    let (_made, root) = directory();
    let settings = ProgramSettings { max_output_bytes: limit, ..settings(&root, timeout) };
    let stdio = Stdio::Pipes { has_input: false };
    let options = BackgroundOptions { stdio, is_stderr_apart: false, ..options() };
    process::run_program(&settings, &sh(script, "."), Some(&options), &host(), cancel)
}

#[test]
#[cfg(target_os = "linux")]
fn a_command_that_may_go_on_ends_as_any_other() {
    let scripts = [
        "echo out; echo err >&2",
        "echo failed; exit 7",
        "seq 1 3000",
        "for i in 1 2 3 4 5 6 7 8 9; do printf 'é😀%.0s' $(seq 1 99); done; exit 1",
        "printf 'a\\377\\342\\202'",
        "cat",
    ];
    for (script, limit) in
        scripts.iter().flat_map(|script| [7, 1_023, 1_024, 1_500].map(|limit| (script, limit)))
    {
        let (_made, root) = directory();
        let settings = ProgramSettings { max_output_bytes: limit, ..settings(&root, LONG) };
        let one = program::run(&settings, &sh(script, "."), &host(), &Cancel::new(), None);
        let other = may_go_on(script, limit, LONG, &Cancel::new()).map(|ran| {
            assert!(ran.process.is_none(), "{script} goes on");
            ran.output
        });
        match (one, other) {
            (Ok(one), Ok(other)) => assert_eq!(one, other, "{script}, {limit}"),
            (Err(Unfinished::Failed(one)), Err(Unfinished::Failed(other))) => {
                assert_eq!(one.message(), other.message(), "{script}, {limit}");
            }
            ends => panic!("{script}, {limit}: {ends:?}"),
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn at_its_timeout_it_goes_on_and_a_cancellation_ends_it() {
    let ran = may_go_on("echo begun; sleep 60", 100, Duration::from_millis(200), &Cancel::new());
    let Ok(CommandOutcome { output, process: Some(kept) }) = ran else {
        panic!("it does not go on: {ran:?}")
    };
    assert_eq!((output.output.as_str(), kept.process.end()), ("begun\n", None));
    let cancel = Arc::new(Cancel::new());
    let stop = Arc::clone(&cancel);
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        stop.cancel();
    });
    let ran = may_go_on("echo begun; sleep 60", 100, LONG, &cancel);
    stopper.join().expect("joined");
    assert_eq!(ran.map(drop), Err(Unfinished::Stopped { output: "begun\n".to_owned() }));
}

/// No longer than this, or until `cancelled`.
fn wait(limit: Option<Duration>, cancelled: &Arc<AtomicBool>) -> Wait {
    Wait { limit, cancelled: Arc::clone(cancelled) }
}

#[test]
#[cfg(target_os = "linux")]
fn a_wait_ends_with_what_it_waits_for_with_its_limit_or_with_a_cancellation() {
    let (_made, root) = directory();
    let (settings, cancel) = (settings(&root, Duration::ZERO), Cancel::new());
    let program = sh("read a; echo \"$a\"; exit 4", ".");
    let kept = process::start_program(&settings, &program, &options(), &host(), &cancel);
    let kept = kept.expect("started");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.expect("made");
    let never = Arc::new(AtomicBool::new(false));
    runtime.block_on(async {
        let short = || wait(Some(Duration::from_millis(20)), &never);
        assert_eq!(kept.ended(short()).await, None);
        assert_eq!(kept.listening(Some(1), short()).await, None);
        let piece = kept.read(Stream::Stdout, 0, 10, short()).await.expect("what there is");
        assert!(piece.bytes.is_empty() && !piece.is_ended);
        let state = kept.input_state(wait(Some(LONG), &never)).await;
        assert!(matches!(state, Some(InputState::Waiting | InputState::Unknown)), "{state:?}");

        let cancelled = Arc::new(AtomicBool::new(false));
        let stopper = {
            let (kept, cancelled) = (Arc::clone(&kept), Arc::clone(&cancelled));
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(50));
                cancelled.store(true, std::sync::atomic::Ordering::Relaxed);
                kept.recheck();
            })
        };
        assert_eq!(kept.ended(wait(None, &cancelled)).await, None);
        stopper.join().expect("joined");

        let end = kept.process.write(b"given\n").expect("taken");
        let endless = || wait(None, &never);
        assert_eq!(kept.written(end, endless()).await, Some(true));
        let piece = kept.read(Stream::Stdout, 0, 10, endless()).await.expect("output");
        assert_eq!(piece.bytes, b"given\n");
        let ended = kept.end_of().await.expect("the end");
        assert_eq!(ended.exit, Some(Exit::Code(4)));
        assert_eq!(kept.ended(endless()).await, Some(ended));
        assert_eq!(kept.listening(None, endless()).await, None);
        assert_eq!(kept.input_state(endless()).await, None);
        assert_eq!(kept.written(end + 1, endless()).await, Some(false));
    });
    assert!(!kept.signal("SIGNO") && kept.signal("SIGINT"));
}

#[test]
#[cfg(target_os = "linux")]
fn the_end_of_an_environment_ends_its_processes_also_one_that_starts_then() {
    let (_made, root) = directory();
    let (settings, cancel) = (settings(&root, Duration::ZERO), Cancel::new());
    let start = |place: Place| {
        let options = BackgroundOptions { place, ..options() };
        process::start_program(&settings, &sh("sleep 60", "."), &options, &host(), &cancel)
            .expect("started")
    };
    let mut running = Running::default();
    let (kept, late) = (start(running.place()), running.place());
    running.stop();
    assert!(kept.process.end().is_some(), "it has ended by now");
    assert_eq!(output_of(&start(late)).1, Some(Exit::Signal { number: 9, name: "SIGKILL".into() }));
}

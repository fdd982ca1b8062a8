//! Support for the tests of commands.

#![expect(dead_code, reason = "every test binary uses a part of it")]

#[cfg(target_os = "linux")]
pub(crate) mod background;
pub(crate) mod place;
pub(crate) mod scene;

use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use toolwright_exec::{ExecEnv, ExecError, ExecRequest, Finished, Output, Streams, run};

pub(crate) const LONG: Duration = Duration::from_secs(30);

/// How late a timeout or a cancel may be on a busy machine. By design it is at once, or 10 ms.
pub(crate) const LATE: Duration = Duration::from_millis(400);

pub(crate) fn strings(args: &[&str]) -> Vec<String> {
    args.iter().map(|&arg| arg.to_owned()).collect()
}

/// Runs with a generous limit and timeout.
pub(crate) fn in_dir(cwd: &Path, cmd: &str, args: &[&str]) -> Result<Finished, ExecError> {
    with(cwd, cmd, args, LONG, 1 << 20, ExecEnv::Inherit)
}

pub(crate) fn sh(script: &str) -> Result<Finished, ExecError> {
    in_dir(Path::new("/"), "sh", &["-c", script])
}

pub(crate) fn with(
    cwd: &Path,
    cmd: &str,
    args: &[&str],
    timeout: Duration,
    max_output_bytes: usize,
    env: ExecEnv,
) -> Result<Finished, ExecError> {
    run(&ExecRequest {
        cmd,
        args: &strings(args),
        cwd,
        env,
        timeout,
        max_output_bytes,
        is_screen: false,
        cancel: &AtomicBool::new(false),
        streams: Streams::Joined,
        sandbox: None,
        patches: None,
        git: None,
        connections: None,
        mask: None,
        facts: None,
    })
}

/// Runs a script that must time out; its output, and how long the call took.
pub(crate) fn timed_out(script: &str, timeout: Duration) -> (Output, Duration) {
    let started = Instant::now();
    let result = with(Path::new("/"), "sh", &["-c", script], timeout, 1 << 16, ExecEnv::Inherit);
    match result {
        Err(ExecError::TimedOut { output, stderr: None, timeout: reported, .. }) => {
            assert_eq!(reported, timeout);
            (output, started.elapsed())
        }
        other => panic!("{other:?}"),
    }
}

pub(crate) fn text(finished: &Finished) -> String {
    String::from_utf8_lossy(&finished.output.bytes).into_owned()
}

pub(crate) fn pids(output: &[u8]) -> Vec<u32> {
    String::from_utf8_lossy(output).lines().filter_map(|line| line.parse().ok()).collect()
}

/// What follows the name in a process's `stat`: its state, its parent, its group.
pub(crate) fn stat(pid: &str) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit(')').next()?.split_whitespace().map(str::to_owned).collect())
}

/// Whether a process with this number runs; a zombie does not.
pub(crate) fn is_alive(pid: u32) -> bool {
    stat(&pid.to_string()).is_some_and(|stat| stat[0] != "Z")
}

/// The processes of a group, zombies aside.
pub(crate) fn members(group: u32) -> usize {
    let all = fs::read_dir("/proc").expect("proc").flatten();
    all.filter_map(|entry| stat(entry.file_name().to_str()?))
        .filter(|stat| stat[0] != "Z" && stat[2] == group.to_string())
        .count()
}

/// Waits until `condition` holds, for two seconds at most.
pub(crate) fn soon(mut condition: impl FnMut() -> bool) -> bool {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(2) {
        if condition() {
            return true;
        }
        thread::sleep(Duration::from_millis(2));
    }
    condition()
}

pub(crate) fn factor() -> u64 {
    env::var("TOOLWRIGHT_SOAK_FACTOR").ok().and_then(|factor| factor.parse().ok()).unwrap_or(1)
}

const ALONE: &str = "TOOLWRIGHT_EXEC_ALONE";

/// For a test that inspects or changes the whole process. It returns false in a process that runs
/// nothing but this test. Otherwise it runs such a process, after `shell`, and returns true.
pub(crate) fn done_alone(test: &str, shell: &str) -> bool {
    if env::var_os(ALONE).is_some_and(|alone| alone == test) {
        return false;
    }
    let temporary = tempfile::tempdir().expect("dir");
    let output = Command::new("sh")
        .args(["-c", &format!("{shell}\nexec \"$0\" --exact --nocapture --test-threads=1 {test}")])
        .arg(env::current_exe().expect("path"))
        .env(ALONE, test)
        .env("TMPDIR", temporary.path())
        .output()
        .expect("runs");
    let output_text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{output_text}{errors}", output.status);
    assert!(output_text.contains("1 passed"), "{output_text}");
    true
}

const OTHER: &str = "TOOLWRIGHT_EXEC_OTHER";

/// The command that runs another one as a user without any privilege. `None`, with a word about it,
/// where this process cannot become that user or is one already.
pub(crate) fn as_another_user() -> Option<Command> {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.arg(env::current_exe().expect("path"));
    // As the tests do it: once more, by its path, as that user.
    let mut trial = Command::new(command.get_program());
    let flags: Vec<_> = command.get_args().collect();
    let (program, flags) = flags.split_last().expect("it has a program");
    trial.args(flags).args(["sh", "-c", "exec \"$0\" --list"]).arg(program);
    let works = trial.output();
    let works = works.is_ok_and(|output| output.status.success());
    if !rustix::process::getuid().is_root() || !works {
        eprintln!("skipped: this needs root, setpriv, and a directory that everybody can enter");
        return None;
    }
    Some(command)
}

/// Runs all tests of this binary once more as a user without any privilege. To be called by a test
/// of that name, which does nothing there.
pub(crate) fn all_as_another_user(test: &str) {
    if env::var_os(OTHER).is_some() {
        return;
    }
    let Some(mut command) = as_another_user() else { return };
    let temporary = tempfile::tempdir().expect("dir");
    std::os::unix::fs::chown(temporary.path(), Some(65534), Some(65534)).expect("owner");
    let output = command
        // Most of them wait most of the time.
        .args(["--test-threads=4", "--skip", test])
        .env(OTHER, "1")
        .env("TMPDIR", temporary.path())
        .env("HOME", temporary.path())
        .output()
        .expect("runs");
    let output_text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "as another user: {}\n{output_text}{errors}", output.status);
}

pub(crate) fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").expect("proc").count()
}

/// The children of this process, zombies too.
pub(crate) fn children() -> String {
    fs::read_dir("/proc/self/task")
        .expect("proc")
        .flatten()
        .map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default())
        .collect::<String>()
        .trim()
        .to_owned()
}

/// The memory of this process in KiB, current or at its peak: `VmRSS`, `VmHWM`.
pub(crate) fn memory(field: &str) -> u64 {
    fs::read_to_string("/proc/self/status")
        .expect("proc")
        .lines()
        .find_map(|line| {
            line.strip_prefix(field)?.strip_prefix(':')?.trim().trim_end_matches(" kB").parse().ok()
        })
        .expect("a number")
}

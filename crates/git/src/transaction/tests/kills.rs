//! A process is killed at every step, and another one recovers: the state is the one before or the one after.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::super::{Transaction, TransactionError, failpoint, recover};
use super::{change, open, repository, state};
use crate::directory::Directory;

const STEP: &str = "TOOLWRIGHT_GIT_STEP";
const REPOSITORY: &str = "TOOLWRIGHT_GIT_REPOSITORY";

/// Runs this test in a process of its own, which is killed after so many steps. `true`: it was killed.
fn run_child(name: &str, repository: &Path, steps: u32) -> bool {
    let status = Command::new(std::env::current_exe().expect("a path"))
        .args([name, "--exact", "--ignored", "--test-threads=1"])
        .env(STEP, steps.to_string())
        .env(REPOSITORY, repository)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("a process");
    assert!(status.success() || status.signal() == Some(9), "{status:?}");
    !status.success()
}

fn child_repository() -> Option<Directory> {
    let steps = std::env::var(STEP).ok()?.parse().ok()?;
    let repository = std::env::var_os(REPOSITORY)?;
    let git = open(Path::new(&repository));
    failpoint::kill_at(steps);
    Some(git)
}

#[test]
#[ignore = "runs as the child of another test"]
fn child_that_changes() {
    if let Some(git) = child_repository() {
        change(&git).expect("a change");
    }
}

#[test]
#[ignore = "runs as the child of another test"]
fn child_that_recovers() {
    if let Some(git) = child_repository() {
        recover(&git).expect("a recovery");
    }
}

#[test]
fn a_process_that_is_killed_at_any_step_has_changed_everything_or_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let (start, end) = (directory.path().join("start"), directory.path().join("end"));
    repository(&start);
    repository(&end);
    let before = state(&start);
    change(&open(&end)).expect("a change");
    let after = state(&end);
    assert_ne!(before, after);
    let (mut finished, mut taken_back) = (0, 0);
    for steps in 0.. {
        let path = directory.path().join(format!("r{steps}"));
        repository(&path);
        // A lock of somebody else is never ours.
        fs::write(path.join("shallow.lock"), "").expect("a file");
        let was_killed = run_child("transaction::tests::kills::child_that_changes", &path, steps);
        // The recovery is killed as well, somewhere.
        if steps % 3 == 1 {
            run_child("transaction::tests::kills::child_that_recovers", &path, steps / 3 % 23);
        }
        let recovered = recover(&open(&path)).expect("a recovery");
        assert!(recovered.unfinished.is_empty() && recovered.alive == 0, "{recovered:?}");
        fs::remove_file(path.join("shallow.lock")).expect("the lock of somebody else");
        let now = state(&path);
        if now == before {
            taken_back += 1;
        } else {
            assert_eq!(now, after, "{steps}");
            finished += 1;
        }
        fs::remove_dir_all(&path).expect("a directory");
        if !was_killed {
            assert_eq!(now, after);
            break;
        }
    }
    assert!(finished > 30 && taken_back > 30, "{finished} {taken_back}");
}

#[test]
fn a_staged_file_that_a_crash_has_emptied_replaces_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    repository(path);
    // Killed right after the point of no return.
    let mut steps = 0;
    loop {
        fs::remove_dir_all(path).expect("a directory");
        fs::create_dir(path).expect("a directory");
        repository(path);
        assert!(run_child("transaction::tests::kills::child_that_changes", path, steps), "no plan");
        let plans = fs::read_dir(path.join("toolwright")).into_iter().flatten();
        let plan = plans.flatten().find(|entry| entry.path().join("plan").exists());
        if let Some(staging) = plan {
            for entry in fs::read_dir(staging.path()).expect("a directory").flatten() {
                if entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()) {
                    fs::write(entry.path(), "").expect("a file");
                }
            }
            break;
        }
        steps += 1;
    }
    let recovered = recover(&open(path)).expect("a recovery");
    assert!(
        recovered.unfinished.iter().any(|step| step.path == Path::new("index")),
        "{recovered:?}"
    );
    assert_eq!(fs::read(path.join("index")).expect("an index"), b"old index");
    assert!(!path.join("index.lock").exists() && !path.join("toolwright").exists());
}

fn git(repository: &Path, arguments: &[&str]) -> (bool, String) {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@example.com",
            "-c",
            "core.fsync=none",
            "-C",
        ])
        .arg(repository)
        .args(arguments)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output();
    let Ok(output) = output else { return (false, String::new()) };
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).trim().to_owned())
}

/// Moves `main` from one commit to the other and writes both logs, as a commit does.
fn commit(git_directory: &Directory, old: &str, new: &str) -> Result<(), TransactionError> {
    let mut transaction = Transaction::begin(git_directory).expect("a transaction");
    transaction.lock("HEAD".as_ref(), 0o644)?;
    transaction.lock("refs/heads/main".as_ref(), 0o644)?;
    transaction.write("refs/heads/main".as_ref(), format!("{new}\n").as_bytes())?;
    let line = format!("{old} {new} A <a@example.com> 1700000000 +0000\tcommit: by us\n");
    transaction.append("logs/HEAD".as_ref(), line.as_bytes())?;
    transaction.append("logs/refs/heads/main".as_ref(), line.as_bytes())?;
    let unfinished = transaction.commit()?;
    assert!(unfinished.is_empty(), "{unfinished:?}");
    Ok(())
}

#[test]
#[ignore = "runs as the child of another test"]
fn child_that_commits() {
    let Some(directory) = child_repository() else { return };
    let ids = std::env::var("TOOLWRIGHT_GIT_IDS").expect("ids");
    let (old, new) = ids.split_once(' ').expect("two ids");
    // The person's git may have a lock at this moment.
    while let Err(TransactionError::Held(_)) = commit(&directory, old, new) {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[test]
fn git_finds_nothing_wrong_after_any_kill_while_a_person_commits() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    if !git(path, &["init", "-q", "-b", "main", "."]).0 {
        return;
    }
    git(path, &["commit", "-q", "--allow-empty", "-m", "one"]);
    git(path, &["branch", "person"]);
    git(path, &["worktree", "add", "-q", "linked", "person"]);
    let (mut ours, mut killed, mut theirs) = (0, 0, 0);
    for steps in (0..).step_by(3) {
        let old = git(path, &["rev-parse", "main"]).1;
        let tree = git(path, &["rev-parse", "main^{tree}"]).1;
        let new = git(path, &["commit-tree", "-p", &old, "-m", "ours", &tree]).1;
        let child = Command::new(std::env::current_exe().expect("a path"))
            .args([
                "transaction::tests::kills::child_that_commits",
                "--exact",
                "--ignored",
                "--test-threads=1",
            ])
            .env(STEP, steps.to_string())
            .env(REPOSITORY, path.join(".git"))
            .env("TOOLWRIGHT_GIT_IDS", format!("{old} {new}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut child = child.expect("a process");
        let linked = path.join("linked");
        if git(&linked, &["commit", "-q", "--allow-empty", "-m", "theirs"]).0 {
            theirs += 1;
        }
        let was_killed = !child.wait().expect("a process").success();
        let recovered = recover(&open(&path.join(".git"))).expect("a recovery");
        assert!(recovered.unfinished.is_empty() && recovered.alive == 0, "{recovered:?}");
        killed += u32::from(was_killed);
        ours += u32::from(git(path, &["rev-parse", "main"]).1 == new);
        let log = git(path, &["log", "-g", "--format=%gs", "main"]).1;
        assert_eq!(
            log.lines().filter(|line| *line == "commit: by us").count(),
            ours as usize,
            "{log}"
        );
        let head = git(path, &["log", "-g", "--format=%gs", "HEAD"]).1;
        assert_eq!(
            head.lines().filter(|line| *line == "commit: by us").count(),
            ours as usize,
            "{head}"
        );
        assert_eq!(git(path, &["status", "--porcelain", "-uno"]), (true, String::new()));
        if !was_killed {
            break;
        }
    }
    assert!(killed > 10 && ours > 2, "{killed} {ours}");
    let count = git(path, &["rev-list", "--count", "person"]).1;
    assert_eq!(count, (theirs + 1).to_string(), "nothing of the person is lost");
    assert_eq!(git(path, &["fsck", "--strict", "--no-dangling", "--no-progress"]).1, "");
    let locks = Command::new("find").arg(path).args(["-name", "*.lock"]).output().expect("find");
    assert!(locks.stdout.is_empty(), "{locks:?}");
    assert!(!path.join(".git/toolwright").exists());
}

//! A process is killed at every step, and another one recovers: the state is the one before or the one after.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Transaction, TransactionError, failpoint, recover};
use crate::directory::Directory;

const STEP: &str = "TOOLWRIGHT_GIT_STEP";
const REPOSITORY: &str = "TOOLWRIGHT_GIT_REPOSITORY";
const SOME: &str = "1111111111111111111111111111111111111111\n";
const OTHER: &str = "2222222222222222222222222222222222222222\n";

fn open(path: &Path) -> Directory {
    Directory::open(&path.canonicalize().expect("a path")).expect("a directory")
}

/// A git directory without objects.
fn repository(path: &Path) {
    for directory in ["refs/heads", "refs/tags", "logs/refs/heads"] {
        fs::create_dir_all(path.join(directory)).expect("a directory");
    }
    for (file, content) in [
        ("HEAD", "ref: refs/heads/main\n"),
        ("index", "old index"),
        ("refs/heads/main", SOME),
        ("refs/heads/gone", SOME),
        ("logs/HEAD", "one\n"),
        ("logs/refs/heads/main", "one\n"),
        ("logs/refs/heads/gone", "one\n"),
        ("packed-refs", "packed old"),
        ("MERGE_HEAD", SOME),
        ("MERGE_MSG", "old message"),
    ] {
        fs::write(path.join(file), content).expect("a file");
    }
}

/// What a command can bring back, in one transaction.
fn change(git: &Directory) -> Result<(), TransactionError> {
    let mut transaction = Transaction::begin(git).expect("a transaction");
    for path in [
        "HEAD",
        "refs/heads/main",
        "refs/heads/new/branch",
        "refs/heads/gone",
        "index",
        "packed-refs",
    ] {
        transaction.lock(path.as_ref(), 0o644)?;
    }
    transaction.write("refs/heads/main".as_ref(), OTHER.as_bytes())?;
    transaction.write("refs/heads/new/branch".as_ref(), OTHER.as_bytes())?;
    transaction.write("HEAD".as_ref(), b"ref: refs/heads/new/branch\n")?;
    transaction.write("index".as_ref(), &b"new index".repeat(1000))?;
    transaction.write("packed-refs".as_ref(), b"packed new")?;
    transaction.remove("refs/heads/gone".as_ref())?;
    transaction.discard("logs/refs/heads/gone".as_ref())?;
    transaction.append("logs/HEAD".as_ref(), b"two\nthree\n")?;
    transaction.append("logs/refs/heads/main".as_ref(), b"two\n")?;
    transaction.append("logs/refs/heads/new/branch".as_ref(), b"first\n")?;
    transaction.discard("MERGE_HEAD".as_ref())?;
    transaction.put("MERGE_MSG".as_ref(), b"new message", 0o644)?;
    transaction.put("rebase-merge/done".as_ref(), b"pick", 0o644)?;
    let unfinished = transaction.commit()?;
    assert!(unfinished.is_empty(), "{unfinished:?}");
    Ok(())
}

/// Every file and its content, and every directory.
fn state(path: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    let mut directories = vec![path.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).expect("a directory") {
            let entry = entry.expect("an entry");
            let below = entry.path().strip_prefix(path).expect("a path").to_owned();
            let kind = entry.file_type().expect("a type");
            let content = if kind.is_dir() {
                directories.push(entry.path());
                "directory".to_owned()
            } else if kind.is_symlink() {
                format!("to {}", fs::read_link(entry.path()).expect("a link").display())
            } else {
                let content = fs::read(entry.path()).expect("a file");
                let start = String::from_utf8_lossy(&content[..content.len().min(20)]).into_owned();
                format!("{start:?} {} {}", content.len(), super::step::sum(&content))
            };
            all.insert(below, content);
        }
    }
    all
}

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
        let was_killed = run_child("transaction::tests::child_that_changes", &path, steps);
        // The recovery is killed as well, somewhere.
        if steps % 3 == 1 {
            run_child("transaction::tests::child_that_recovers", &path, steps / 3 % 23);
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
fn the_living_are_left_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    repository(directory.path());
    let git = open(directory.path());
    let before = state(directory.path());
    let mut transaction = Transaction::begin(&git).expect("a transaction");
    transaction.lock("index".as_ref(), 0o644).expect("a lock");
    let recovered = recover(&git).expect("a recovery");
    assert_eq!((recovered.alive, recovered.finished, recovered.taken_back), (1, 0, 0));
    assert!(directory.path().join("index.lock").exists());
    let mut other = Transaction::begin(&git).expect("a transaction");
    assert!(matches!(other.lock("index".as_ref(), 0o644), Err(TransactionError::Held(_))));
    drop(other);
    assert!(directory.path().join("index.lock").exists());
    drop(transaction);
    assert_eq!(state(directory.path()), before);
}

#[test]
fn a_lock_that_somebody_took_in_place_of_ours_stays() {
    let directory = tempfile::tempdir().expect("a directory");
    repository(directory.path());
    let git = open(directory.path());
    let mut transaction = Transaction::begin(&git).expect("a transaction");
    transaction.lock("index".as_ref(), 0o644).expect("a lock");
    transaction.write("index".as_ref(), b"ours").expect("a write");
    let lock = directory.path().join("index.lock");
    fs::remove_file(&lock).expect("a lock");
    fs::write(&lock, "theirs").expect("a lock");
    transaction.commit().expect("a commit");
    assert_eq!(fs::read(&lock).expect("a lock"), b"theirs");
    assert_eq!(fs::read(directory.path().join("index")).expect("an index"), b"old index");
}

#[test]
fn what_the_person_set_up_otherwise_is_refused_by_name() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    repository(path);
    fs::create_dir(path.join("elsewhere")).expect("a directory");
    symlink("main", path.join("refs/heads/link")).expect("a link");
    symlink("elsewhere", path.join("refs/linked")).expect("a link");
    symlink("main", path.join("logs/refs/heads/link")).expect("a link");
    fs::create_dir_all(path.join("refs/heads/full")).expect("a directory");
    fs::write(path.join("refs/heads/full/x"), SOME).expect("a file");
    let before = state(path);
    let git = open(path);
    let mut transaction = Transaction::begin(&git).expect("a transaction");
    let mut lock = |path: &str| transaction.lock(path.as_ref(), 0o644);
    assert!(matches!(lock("refs/heads/link"), Err(TransactionError::WrongKind(_))));
    assert!(matches!(lock("refs/linked/x"), Err(TransactionError::WrongKind(_))));
    assert!(matches!(lock("refs/heads/main/x"), Err(TransactionError::InTheWay(_))));
    for bad in [
        "/etc/passwd",
        "../x",
        "hooks/pre-commit",
        "objects/info/alternates",
        "index.lock",
        "toolwright/x",
    ] {
        assert!(matches!(lock(bad), Err(TransactionError::Path(_))), "{bad}");
    }
    lock("refs/heads/full").expect("a lock");
    assert!(matches!(
        transaction.write("refs/heads/full".as_ref(), b""),
        Err(TransactionError::InTheWay(_))
    ));
    assert!(matches!(
        transaction.write("index".as_ref(), b""),
        Err(TransactionError::NotLocked(_))
    ));
    assert!(matches!(
        transaction.put("index".as_ref(), b"", 0o644),
        Err(TransactionError::NotLocked(_))
    ));
    assert!(matches!(
        transaction.append("logs/HEAD".as_ref(), b""),
        Err(TransactionError::NotLocked(_))
    ));
    assert!(matches!(
        transaction.put("worktrees/w/HEAD".as_ref(), b"", 0o644),
        Err(TransactionError::NotLocked(_))
    ));
    symlink("elsewhere", path.join("logs/refs/linked")).expect("a link");
    fs::remove_file(path.join("refs/linked")).expect("a link");
    transaction.lock("refs/linked/x".as_ref(), 0o644).expect("a lock");
    assert!(matches!(
        transaction.append("logs/refs/linked/x".as_ref(), b""),
        Err(TransactionError::WrongKind(_))
    ));
    drop(transaction);
    fs::remove_file(path.join("logs/refs/linked")).expect("a link");
    // As with git, a directory for a kind of references stays.
    fs::remove_dir(path.join("refs/linked")).expect("a directory");
    symlink("elsewhere", path.join("refs/linked")).expect("a link");
    assert_eq!(state(path), before);
}

#[test]
fn a_file_keeps_its_mode_and_a_changed_one_stays() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    repository(path);
    fs::set_permissions(path.join("index"), fs::Permissions::from_mode(0o600)).expect("a mode");
    let git = open(path);
    let mut transaction = Transaction::begin(&git).expect("a transaction");
    transaction.lock("index".as_ref(), 0o644).expect("a lock");
    transaction.write("index".as_ref(), b"new").expect("a write");
    transaction.discard("MERGE_HEAD".as_ref()).expect("a step");
    fs::write(path.join("MERGE_HEAD"), "another merge").expect("a file");
    transaction.commit().expect("a commit");
    assert_eq!(fs::metadata(path.join("index")).expect("a file").mode() & 0o777, 0o600);
    assert_eq!(fs::read(path.join("MERGE_HEAD")).expect("a file"), b"another merge");
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
        assert!(run_child("transaction::tests::child_that_changes", path, steps), "no plan");
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
                "transaction::tests::child_that_commits",
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
